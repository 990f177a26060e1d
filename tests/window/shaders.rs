//! Every shader is valid, and reads its uniforms where the program writes them. No GPU is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem::offset_of;
use std::path::Path as FilePath;

use naga::valid::{Capabilities, ValidationFlags, Validator};
use valleyscope::gpu::pipeline::{Curve, Disc, Frame, LossMap, Path, Space, Surface, Trail};
use valleyscope::gpu::{SHADERS, program_shader};
use valleyscope_engine::landscape::LandscapeKind;
use valleyscope_engine::loss::LossProgram;

fn files() -> Vec<(String, String)> {
    let folder = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap()))
        .collect();
    files.sort();
    files
}

fn parsed(name: &str, source: &str) -> naga::Module {
    naga::front::wgsl::parse_str(source).unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(source)))
}

fn validated(name: &str, source: &str) -> naga::Module {
    let module = parsed(name, source);
    // No capabilities: the shaders run on every backend, WebGL 2 included.
    Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(source)));
    module
}

#[test]
fn every_entry_point_of_every_file_is_valid() {
    let mut validated_entries = BTreeSet::new();
    for (name, source) in SHADERS {
        let module = validated(name, source);
        assert_eq!(module.entry_points.len(), 2, "{name} has a vertex and a fragment shader");
        validated_entries.extend(module.entry_points.iter().map(|entry| entry.name.clone()));
    }
    let mut entries = 0;
    let program = program_shader(LandscapeKind::River.program());
    for (name, source) in files() {
        let mut all = SHADERS.iter().map(|(_, whole)| *whole).chain([&*program]);
        assert!(all.any(|whole| whole.contains(&source)), "{name}.wgsl is used by no shader");
        entries += source.matches("@vertex\n").count() + source.matches("@fragment\n").count();
    }
    assert_eq!(validated_entries.len(), entries, "an entry point is in no shader: {validated_entries:?}");
}

#[test]
fn the_shader_of_every_landscape_is_valid() {
    for kind in LandscapeKind::ALL {
        let module = validated(kind.key(), &program_shader(kind.program()));
        assert_eq!(module.entry_points.len(), 2, "{}", kind.key());
    }
}

/// The bytes of a struct: its size, and offset and size of each member.
type Layout = (usize, BTreeMap<&'static str, (usize, usize)>);

fn member_size<T, M>(_: fn(&T) -> &M) -> usize {
    size_of::<M>()
}

macro_rules! layout {
    ($type:ident: $($member:ident),+) => {{
        // Fails to compile when a member is missing here.
        let $type { $($member: _),+ } = $type::default();
        let members = [$((stringify!($member), (offset_of!($type, $member), member_size(|it: &$type| &it.$member)))),+];
        (stringify!($type), (size_of::<$type>(), BTreeMap::from(members)))
    }};
}

fn layouts() -> BTreeMap<&'static str, Layout> {
    BTreeMap::from([
        layout!(Frame: offset_per_unit, center_hi, center_lo, size_px, padding),
        layout!(LossMap: center_hi, center_lo, first_per_px, second_per_px, numbers, center_loss,
            inv_linear, inv_length, zero, contours, lowest_contour, highest_contour, center_level, center_gap,
            contour_width_px, padding),
        layout!(Trail: color, opacity, edge_opacity, edge_px, half_width_px, fade_steps, first_age, oldest_age,
            particles, piece, pieces, padding),
        layout!(Space: right, distance, up, focal_px, back, lift_px),
        layout!(Surface: light, contours, zero, lowest_contour, highest_contour, contour_width_px, ambient, diffuse, padding),
        layout!(Path: color, half_width_px, opacity, padding),
        layout!(Curve: color, opacity, half_width_px, period_px, dash_px, padding),
        layout!(Disc: color, radius_px, edge_opacity, edge_px, ring_radius_px, ring_half_width_px, opacity,
            padding),
    ])
}

#[test]
fn uniform_blocks_have_the_same_layout_in_rust() {
    let layouts = layouts();
    let mut seen = BTreeSet::new();
    for (shader, source) in SHADERS {
        let module = parsed(shader, source);
        let uniforms = module.global_variables.iter().filter(|(_, it)| it.space == naga::AddressSpace::Uniform);
        for (_, variable) in uniforms {
            let block = &module.types[variable.ty];
            let name = block.name.as_deref().unwrap();
            let naga::TypeInner::Struct { members, span } = &block.inner else { panic!("{name} is no struct") };
            let (size, rust) = layouts.get(name).unwrap_or_else(|| panic!("{name} has no struct in Rust"));
            assert_eq!(*span as usize, *size, "size of {name}");
            for member in members {
                let member_name = member.name.as_deref().unwrap();
                let expected = (member.offset as usize, module.types[member.ty].inner.size(module.to_ctx()) as usize);
                assert_eq!(rust.get(member_name), Some(&expected), "{name}.{member_name}");
            }
            let named: BTreeSet<_> = members.iter().map(|member| member.name.as_deref().unwrap()).collect();
            let surplus: Vec<_> = rust.keys().filter(|key| !named.contains(*key) && **key != "padding").collect();
            assert!(surplus.is_empty(), "{name} has no {surplus:?} in {shader}.wgsl");
            seen.insert(name.to_owned());
        }
    }
    assert!(seen.iter().map(String::as_str).eq(layouts.keys().copied()), "only {seen:?} are uniform blocks");
}

/// Losses with every operation, with powers of all kinds, and with numbers that WGSL refuses in constants.
const LOSSES: &[&str] = &[
    "param b = 100 in 1..1000\nL = (1 - x)^2 + b*(y - x^2)^2",
    "param a = 10 in 0..100, c = 0.1 in 0..1, p = 3 in 0..8\nL = a/2*abs(u)^p*v^2 - c*u + abs(x)^-1.5 + 2^y",
    "L = (1.5 - u + u*v)^2 + (2.25 - u + u*v^2)^2 + (2.625 - u + u*v^3)^2",
    "param A = 10 in 0..20\nL = 2*A + u^2 - A*cos(2*pi*u) + v^2 - A*sin(2*pi*v + phi)",
    "param t = 0.05 in 0..1\na = (v - 0.5)^2 - u\nb = 20*(v + 0.5)^2 - 2*u\nl = min(a, b)\n\
     L = l - t*ln(exp((l - a)/t) + exp((l - b)/t))",
    "r = sqrt(x^2 + y^2)\nL = where(r > 1, ln(r), tanh(r)) + clamp(x, -1, y)*(x <= y) + sign(x)*max(x, 2)*(x == y)",
    "L = x/0 + y*ln(-1) + 1e300*1e300 + exp(1e300) - 1e39*x - 1e-46*y + 1/0*(2 < 0/0)",
    "L = 0*ln(x) + 0/y + (ln(x) - ln(x)) + max(ln(x), 1) + min(sqrt(y), 1) + sign(ln(y)) + where(ln(x), 1, 2) + 0*(1/0)",
    "L = min(ln(x), -1e-50)",
    "L = 0",
];

#[test]
fn losses_are_printed_as_valid_functions() {
    const UNIFORMS: &str = "@group(0) @binding(0) var<uniform> numbers: array<vec4<f32>, 4>;\n\
        fn landscape_uniform(index: u32) -> f32 { return numbers[index / 4u][index % 4u]; }\n";
    for text in LOSSES {
        let program = LossProgram::new(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let module = validated(text, &format!("{UNIFORMS}{}", program.wgsl()));
        let functions: Vec<_> = module.functions.iter().filter_map(|(_, function)| function.name.clone()).collect();
        for name in ["landscape_loss", "landscape_gradient"] {
            assert!(functions.iter().any(|function| function == name), "{text}: {functions:?}");
        }
    }
    let program = Box::leak(Box::new(LossProgram::new(LOSSES[0]).unwrap()));
    assert_eq!(program.bind(&[100.0], 0.0).wgsl_uniforms().len(), 16);
}
