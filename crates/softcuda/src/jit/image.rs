//! Texture and surface instructions: operands go into words on the stack, a function of the device does the rest.

use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{InstBuilder as _, MemFlagsData, StackSlotData, StackSlotKind, Value};
use cuprum_ptx::{
    AtomOp, Bounds, Component, Geometry as Spelled, Mipmap, Op, Opcode, Query as Asked, ScalarType,
    SurfaceFormat,
};

use super::lower::{Lower, Lowered};
use super::unit::Helper;
use crate::exec::image::SURFACE;
use crate::program::ir::Operand;
use crate::texture::{
    Detail, Geometry, Outside, Query, SurfaceAction, SurfaceRequest, TextureRequest,
};

/// Bytes of the words that a helper gets: [`Slots`](crate::texture::Slots).
const SLOTS: u32 = size_of::<crate::texture::Slots>() as u32;
/// The stack is the function's own, and aligned.
const STACK: MemFlagsData = MemFlagsData::trusted();

fn geometry(op: &Op) -> Lowered<Geometry> {
    Ok(match op.modifiers.geometry() {
        Some(Spelled::D1) => Geometry::D1,
        Some(Spelled::D2) => Geometry::D2,
        Some(Spelled::D3) => Geometry::D3,
        Some(Spelled::A1d) => Geometry::A1,
        Some(Spelled::A2d) => Geometry::A2,
        Some(Spelled::Cube) => Geometry::Cube,
        Some(Spelled::Acube) => Geometry::Acube,
        _ => return Err("this geometry is not supported".to_owned()),
    })
}

/// The object and the coordinates of an operand `[object, {x, y}]`.
fn object(operand: &Operand) -> Lowered<(&Operand, &[Operand])> {
    match operand {
        Operand::Vector(parts) => match &**parts {
            // A vector register holds all coordinates; else they follow the object one by one.
            [object, Operand::Vector(coordinates)] => Ok((object, coordinates)),
            [object, coordinates @ ..] => Ok((object, coordinates)),
            [] => Err("a texture or surface operand that names no object".to_owned()),
        },
        _ => Err("a texture or surface operand without coordinates".to_owned()),
    }
}

fn elements(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(list) => list,
        other => core::slice::from_ref(other),
    }
}

impl Lower<'_, '_, '_> {
    /// Words on the stack, and their address.
    fn slots(&mut self) -> Value {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, SLOTS, 4);
        let slot = self.b.create_sized_stack_slot(data);
        self.b.ins().stack_addr(I64, slot, 0)
    }

    fn put_word(&mut self, slots: Value, index: usize, operand: &Operand) -> Lowered {
        let value = self.value(operand, I32)?;
        self.b.ins().store(STACK, value, slots, (index * 4) as i32);
        Ok(())
    }

    /// Puts operands into consecutive words.
    fn put_words(&mut self, slots: Value, first: usize, operands: &[Operand]) -> Lowered {
        for (index, operand) in operands.iter().enumerate() {
            self.put_word(slots, first + index, operand)?;
        }
        Ok(())
    }

    fn image_helper(
        &mut self,
        helper: Helper,
        request: u32,
        object: &Operand,
        slots: Value,
    ) -> Lowered {
        let site = self.unit.site(self.line, None);
        let site = self.iconst(I32, u64::from(site));
        let request = self.iconst(I32, u64::from(request));
        let handle = self.value(object, I64)?;
        let (ctx, thread) = (self.ctx, self.thread);
        let failed = self
            .call_helper(helper, &[ctx, thread, site, request, handle, slots])
            .expect("the helpers of images have a result");
        let (fault, go_on) = (self.fault_block(), self.b.create_block());
        self.branch(failed, fault, go_on);
        self.enter(go_on);
        Ok(())
    }

    /// `tex` and `tld4`.
    pub(super) fn texture(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let geometry = geometry(op)?;
        let [result, coordinate] = [op.types.first(), op.types.get(1)].map(|ty| ty.copied());
        if !matches!(
            result,
            Some(ScalarType::F32 | ScalarType::S32 | ScalarType::U32)
        ) || op.vector != 4
        {
            return Err("this type of result is not supported".to_owned());
        }
        let detail = match (op.opcode, op.modifiers.mipmap()) {
            (Opcode::Tld4, _) => Detail::Gather(match op.modifiers.component() {
                Some(Component::R) | None => 0,
                Some(Component::G) => 1,
                Some(Component::B) => 2,
                Some(Component::A) => 3,
            }),
            (_, None | Some(Mipmap::Base)) => Detail::Base,
            (_, Some(Mipmap::Level)) => Detail::Level,
            (_, Some(Mipmap::Grad)) => Detail::Gradient,
        };
        let request = TextureRequest {
            geometry,
            integer: coordinate == Some(ScalarType::S32),
            detail,
        };
        let (object, coordinates) = object(&o[1])?;
        let needed = geometry.coordinates() + usize::from(geometry.is_layered());
        let Some(coordinates) = coordinates.get(..needed) else {
            return Err(format!("{needed} coordinates are needed"));
        };
        let slots = self.slots();
        self.put_words(slots, 0, coordinates)?;
        let operands_after = match detail {
            Detail::Base | Detail::Gather(_) => 0,
            Detail::Level => 1,
            Detail::Gradient => 2,
        };
        if o.len() != 2 + operands_after {
            return Err("offsets and depth comparison are not supported".to_owned());
        }
        match detail {
            Detail::Level => self.put_word(slots, 4, &o[2])?,
            Detail::Gradient => {
                for (first, gradient) in [(4, &o[2]), (8, &o[3])] {
                    let Some(parts) = elements(gradient).get(..geometry.coordinates()) else {
                        return Err("a gradient with too few components".to_owned());
                    };
                    self.put_words(slots, first, parts)?;
                }
            }
            Detail::Base | Detail::Gather(_) => {}
        }
        self.image_helper(Helper::Texture, request.to_bits(), object, slots)?;
        let destinations = match &o[0] {
            // The predicate says that the texels are in memory: they always are.
            Operand::Pair(pair) => {
                let resident = self.iconst(I8, 1);
                self.set(&pair[1], resident)?;
                &pair[0]
            }
            destinations => destinations,
        };
        self.take_words(slots, elements(destinations), 4)
    }

    /// Sets the destinations from the first words.
    fn take_words(&mut self, slots: Value, destinations: &[Operand], most: usize) -> Lowered {
        if destinations.len() > most {
            return Err("a vector of another length than the instruction's".to_owned());
        }
        for (index, destination) in destinations.iter().enumerate() {
            let value = self.b.ins().load(I32, STACK, slots, (index * 4) as i32);
            self.set(destination, value)?;
        }
        Ok(())
    }

    /// `suld`, `sust` and `sured`.
    pub(super) fn surface(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let geometry = geometry(op)?;
        if geometry.is_cube() {
            return Err("this geometry is not supported".to_owned());
        }
        let ty = op.ty();
        let formatted = op.modifiers.surface_format() == Some(SurfaceFormat::P);
        let action = match (op.opcode, formatted, op.modifiers.atom_op()) {
            (Opcode::Suld, false, _) => SurfaceAction::Load,
            (Opcode::Sust, false, _) => SurfaceAction::Store,
            (Opcode::Sust, true, _) => SurfaceAction::StoreFormatted,
            (Opcode::Sured, false, Some(AtomOp::Add)) => SurfaceAction::Add,
            (Opcode::Sured, false, Some(AtomOp::Min)) => SurfaceAction::Min,
            (Opcode::Sured, false, Some(AtomOp::Max)) => SurfaceAction::Max,
            (Opcode::Sured, false, Some(AtomOp::And)) => SurfaceAction::And,
            (Opcode::Sured, false, Some(AtomOp::Or)) => SurfaceAction::Or,
            _ => return Err("this form of surface access is not supported".to_owned()),
        };
        let bytes = ty.size() * u32::from(op.vector);
        if bytes > 16 {
            return Err("a surface access of more than 16 bytes".to_owned());
        }
        let request = SurfaceRequest {
            geometry,
            action,
            outside: match op.modifiers.bounds() {
                Some(Bounds::Clamp) => Outside::Clamp,
                Some(Bounds::Zero) => Outside::Zero,
                _ => Outside::Trap,
            },
            bytes,
            signed: ty.is_signed(),
        };
        let is_load = action == SurfaceAction::Load;
        let (operand, data) = if is_load {
            (&o[1], &o[0])
        } else {
            (&o[0], &o[1])
        };
        let (object, coordinates) = object(operand)?;
        let needed = geometry.coordinates() + usize::from(geometry.is_layered());
        let Some(coordinates) = coordinates.get(..needed) else {
            return Err(format!("{needed} coordinates are needed"));
        };
        let data = elements(data);
        if data.len() != usize::from(op.vector) {
            return Err("a vector of another length than the instruction's".to_owned());
        }
        let machine = super::registers::integer_type(ty.size() * 8);
        let slots = self.slots();
        self.put_words(slots, 0, coordinates)?;
        let place = |index: usize| (index as u32 * ty.size()) as i32;
        if !is_load {
            for (index, element) in data.iter().enumerate() {
                let value = self.value(element, machine)?;
                self.b.ins().store(STACK, value, slots, 16 + place(index));
            }
            if formatted {
                // A texel may have more channels than are given.
                let zero = self.iconst(I32, 0);
                for index in data.len()..4 {
                    self.b.ins().store(STACK, zero, slots, 16 + place(index));
                }
            }
        }
        self.image_helper(Helper::Surface, request.to_bits(), object, slots)?;
        if is_load {
            let mut values = Vec::with_capacity(data.len());
            for index in 0..data.len() {
                values.push(self.b.ins().load(machine, STACK, slots, place(index)));
            }
            for (destination, value) in data.iter().zip(values) {
                self.set(destination, value)?;
            }
        }
        Ok(())
    }

    /// `txq` and `suq`.
    pub(super) fn image_query(&mut self, op: &Op, o: &[Operand]) -> Lowered {
        let query = match op.modifiers.query() {
            Some(Asked::Width) => Query::Width,
            Some(Asked::Height) => Query::Height,
            Some(Asked::Depth) => Query::Depth,
            Some(Asked::ChannelDataType) => Query::ChannelDataType,
            Some(Asked::ChannelOrder) => Query::ChannelOrder,
            Some(Asked::NormalizedCoords) => Query::NormalizedCoordinates,
            Some(Asked::ArraySize) => Query::ArraySize,
            Some(Asked::NumMipmapLevels) => Query::MipmapLevels,
            Some(Asked::NumSamples) => Query::Samples,
            _ => return Err("this query is not supported".to_owned()),
        };
        if o.len() != 2 || op.modifiers.mipmap().is_some() {
            return Err("queries of a level are not supported".to_owned());
        }
        let object = match &o[1] {
            Operand::Address(base, 0) => self.image_operand(*base)?,
            other => other.clone(),
        };
        let slots = self.slots();
        let of = if op.opcode == Opcode::Suq { SURFACE } else { 0 };
        self.image_helper(Helper::ImageQuery, query as u32 | of, &object, slots)?;
        self.take_words(slots, core::slice::from_ref(&o[0]), 1)
    }

    /// The object of `[object]`, which is written as an address.
    fn image_operand(&self, base: crate::program::ir::Base) -> Lowered<Operand> {
        use crate::program::ir::Base;
        match base {
            Base::Reg(reg) | Base::FrameReg(reg) => Ok(Operand::Reg(reg)),
            Base::Symbol(symbol) => Ok(Operand::Symbol(symbol, 0)),
            Base::None => Err("a query that names no object".to_owned()),
        }
    }
}
