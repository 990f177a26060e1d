//! The layout of the parameters of a stack of models in one flat tensor.

/// Layout of the parameters of a stack of models in one flat tensor, model after model.
///
/// A segment is one parameter tensor. A model's part of the flat tensor has the layout of a single model, so that it
/// can be used like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterLayout {
    segments: Vec<Segment>,
    models: usize,
    /// The length of a model.
    stride: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The name, such as `layers.0.linear.weight`.
    pub name: String,
    pub shape: Vec<i64>,
    /// Whether weight decay applies to it.
    pub decays: bool,
    /// The number of matrices `[outputs, inputs]` in the tensor, one below the other. Rules for matrices treat a tensor
    /// with 0 of them, such as embeddings and output layers, as a vector.
    pub matrices: usize,
    /// The blocks of the tensor for Adam-mini, in their order: the number of blocks, and of the elements of each.
    pub blocks: Vec<(usize, usize)>,
    offset: usize,
}

impl Segment {
    pub fn size(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }
}

impl ParameterLayout {
    /// The alignment of segments for vectors and GPUs: each starts at a multiple of 256 bytes in single precision. The
    /// gaps stay zero.
    const ALIGNMENT: usize = 64;

    /// Creates a layout for `models` models of tensors given by name, shape and whether weight decay applies to them.
    pub fn new(tensors: impl IntoIterator<Item = (String, Vec<i64>, bool)>, models: usize) -> ParameterLayout {
        let mut stride = 0;
        let segments = tensors.into_iter().map(|(name, shape, decays)| {
            let matrices = usize::from(shape.len() == 2);
            let sides: Vec<usize> = shape.iter().map(|side| *side as usize).collect();
            let blocks = match sides[..] {
                [rows, columns] => (rows, columns),
                _ if name.ends_with("bias") => (sides.iter().product(), 1),
                _ => (1, sides.iter().product()),
            };
            let segment = Segment { name, shape, decays, matrices, blocks: vec![blocks], offset: stride };
            stride = (stride + segment.size()).next_multiple_of(Self::ALIGNMENT);
            segment
        });
        let segments = segments.collect();
        ParameterLayout { segments, models, stride }
    }

    /// Sets the number of matrices in the segments for which `count` returns one. The default is 1 for shapes of two
    /// sides.
    pub fn with_matrices(mut self, count: impl Fn(&str) -> Option<usize>) -> ParameterLayout {
        for segment in &mut self.segments {
            segment.matrices = count(&segment.name).unwrap_or(segment.matrices);
        }
        self
    }

    /// Sets the blocks of the segments for which `blocks` returns any. The default blocks are the rows of a matrix, the
    /// elements of a bias, and the whole of another vector.
    pub fn with_blocks(mut self, blocks: impl Fn(&str) -> Option<Vec<(usize, usize)>>) -> ParameterLayout {
        for segment in &mut self.segments {
            if let Some(blocks) = blocks(&segment.name) {
                let size: usize = blocks.iter().map(|(count, elements)| count * elements).sum();
                assert_eq!(size, segment.size(), "the blocks of {} are all of it", segment.name);
                segment.blocks = blocks;
            }
        }
        self
    }

    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    pub fn models(&self) -> usize {
        self.models
    }

    pub fn length(&self) -> usize {
        self.stride * self.models
    }

    /// Views a model's part of a flat tensor, or of a tensor with an entry for each model.
    pub(super) fn of_model(&self, tensor: &tch::Tensor, model: usize) -> Result<tch::Tensor, tch::TchError> {
        let length = tensor.size()[0] / self.models as i64;
        tensor.f_narrow(0, model as i64 * length, length)
    }

    /// The range of a segment's elements for one model.
    pub fn range(&self, segment: usize, model: usize) -> std::ops::Range<usize> {
        let start = model * self.stride + self.segments[segment].offset;
        start..start + self.segments[segment].size()
    }

    pub fn model_size(&self) -> usize {
        self.segments.iter().map(Segment::size).sum()
    }

    /// Views the matrices of all models in a segment of a flat tensor, `[models × matrices, outputs, inputs]`, if it
    /// has any.
    pub fn matrices(&self, flat: &tch::Tensor, segment: usize) -> Option<tch::Tensor> {
        let Segment { ref shape, matrices, .. } = self.segments[segment];
        let (&[rows, columns], 1..) = (&shape[..], matrices) else { return None };
        Some(self.view(flat, segment).view([-1, rows / matrices as i64, columns]))
    }

    /// Views the blocks of all models in a segment of a flat tensor, `[models, blocks, elements]` for each length of
    /// blocks.
    pub fn blocks(&self, flat: &tch::Tensor, segment: usize) -> Vec<tch::Tensor> {
        let of_models = self.view(flat, segment).view([self.models as i64, -1]);
        let mut start = 0;
        let parts = self.segments[segment].blocks.iter().map(|&(count, elements)| {
            let part = of_models.narrow(1, start, (count * elements) as i64);
            start += (count * elements) as i64;
            part.unflatten(1, [count as i64, elements as i64])
        });
        parts.collect()
    }

    /// Views a segment of a flat tensor in the shape `[models, …]`.
    pub fn view(&self, flat: &tch::Tensor, segment: usize) -> tch::Tensor {
        let Segment { shape, offset, .. } = &self.segments[segment];
        let of_models = flat.view([self.models as i64, self.stride as i64]);
        of_models.narrow(1, *offset as i64, self.segments[segment].size() as i64).unflatten(1, &shape[..])
    }
}

/// Views some elements of a flat tensor.
pub(super) fn narrow(flat: &tch::Tensor, elements: &std::ops::Range<usize>) -> Result<tch::Tensor, tch::TchError> {
    flat.f_narrow(0, elements.start as i64, elements.len() as i64)
}

/// Whether all numbers of a tensor are finite. Blocks on the device.
pub(super) fn is_finite(tensor: &tch::Tensor) -> Result<bool, tch::TchError> {
    Ok(tensor.f_isfinite()?.f_all()?.f_int64_value(&[])? == 1)
}
