//! Special registers.

use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder as _, Value};

use super::lower::{CONSTANT, Lower, field};
use super::unit::Helper;
use crate::program::ir::Special;

impl Lower<'_, '_, '_> {
    /// The value of a special register, in 32 or 64 bits.
    pub(super) fn special(&mut self, special: Special) -> Value {
        let component = |base: usize, index: u8| base + 4 * usize::from(index);
        match special {
            Special::Tid(index) => {
                let packed = self.packed_index();
                match index {
                    0 => self.b.ins().band_imm_u(packed, 0x3ff),
                    1 => {
                        let shifted = self.b.ins().ushr_imm_u(packed, 10);
                        self.b.ins().band_imm_u(shifted, 0x3ff)
                    }
                    _ => self.b.ins().ushr_imm_u(packed, 20),
                }
            }
            Special::Ntid(index) => self.context(I32, component(field!(ntid), index)),
            Special::Ctaid(index) => self.context(I32, component(field!(ctaid), index)),
            Special::Nctaid(index) => self.context(I32, component(field!(nctaid), index)),
            Special::LaneId => {
                let thread = self.thread;
                self.b.ins().band_imm_u(thread, 31)
            }
            Special::WarpId => {
                let thread = self.thread;
                self.b.ins().ushr_imm_u(thread, 5)
            }
            Special::WarpCount => {
                let x = self.context(I32, component(field!(ntid), 0));
                let y = self.context(I32, component(field!(ntid), 1));
                let z = self.context(I32, component(field!(ntid), 2));
                let product = self.b.ins().imul(x, y);
                let product = self.b.ins().imul(product, z);
                let rounded = self.b.ins().iadd_imm_s(product, 31);
                self.b.ins().ushr_imm_u(rounded, 5)
            }
            Special::SmId => self.context(I32, field!(smid)),
            Special::SmCount => self.context(I32, field!(nsmid)),
            Special::GridId => self.context(I64, field!(grid_id)),
            Special::LaneMaskEq => self.lane_bit(),
            Special::LaneMaskLt => {
                let bit = self.lane_bit();
                self.b.ins().iadd_imm_s(bit, -1)
            }
            Special::LaneMaskLe => {
                let bit = self.lane_bit();
                let below = self.b.ins().iadd_imm_s(bit, -1);
                self.b.ins().bor(bit, below)
            }
            Special::LaneMaskGe => {
                let bit = self.lane_bit();
                self.b.ins().ineg(bit)
            }
            Special::LaneMaskGt => {
                let bit = self.lane_bit();
                let from = self.b.ins().ineg(bit);
                self.b.ins().bxor(from, bit)
            }
            Special::Clock => self.clock(),
            Special::ClockHigh => {
                let clock = self.clock();
                self.b.ins().ushr_imm_u(clock, 32)
            }
            Special::DynamicShared => self.context(I32, field!(dynamic_shared)),
            Special::TotalShared => self.context(I32, field!(total_shared)),
            Special::GridWorkspaceHigh => {
                let address = self.context(I64, field!(grid_workspace));
                self.b.ins().ushr_imm_u(address, 32)
            }
            Special::GridWorkspaceLow => self.context(I64, field!(grid_workspace)),
            Special::Constant(value) => self.iconst(I32, u64::from(value)),
        }
    }

    /// The indices of the thread, packed.
    fn packed_index(&mut self) -> Value {
        if let Some(packed) = self.packed {
            return packed;
        }
        let table = self.context(I64, field!(tid));
        let thread = self.thread_wide();
        let mut cursor = self.at_start(Some(thread));
        let offset = cursor.ins().ishl_imm_u(thread, 2);
        let place = cursor.ins().iadd(table, offset);
        let packed = cursor.ins().load(I32, CONSTANT, place, 0);
        self.packed = Some(packed);
        packed
    }

    fn lane_bit(&mut self) -> Value {
        let thread = self.thread;
        let lane = self.b.ins().band_imm_u(thread, 31);
        let one = self.iconst(I32, 1);
        self.b.ins().ishl(one, lane)
    }

    fn clock(&mut self) -> Value {
        let ctx = self.ctx;
        self.call_helper(Helper::Clock, &[ctx])
            .expect("the clock has a result")
    }
}
