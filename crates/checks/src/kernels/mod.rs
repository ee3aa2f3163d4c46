mod control;
mod cooperation;

use crate::check::Check;

pub(crate) fn checks() -> Vec<Check> {
    [control::checks(), cooperation::checks()].concat()
}
