// The loss L = (a/2) u² v² − c u, in the coordinates u and v.

// Evaluates the loss at the camera's centre plus (du, dv).
//
// At a wide view the formula itself is best. At a deep zoom its rounding would exceed the differences between pixels;
// there the loss is the centre's plus the change due to du and dv, the same polynomial in another order. Each pixel
// takes the form whose terms, and so whose rounding errors, are smaller; the second is preferred when they are about
// equal, because it is smooth over the whole view.
fn loss_at(du: f32, dv: f32) -> Loss {
    let sharpness = loss_map.numbers[0].x;
    let slope = loss_map.numbers[0].y;
    // The product u₀ v₀ at the camera's centre (u₀, v₀).
    let center_uv = loss_map.numbers[0].z;
    let u = loss_map.center_hi.x + (loss_map.center_lo.x + du);
    let v = loss_map.center_hi.y + (loss_map.center_lo.y + dv);
    let gradient = vec2<f32>(sharpness * u * v * v - slope, sharpness * u * u * v);

    let wall = 0.5 * sharpness * (u * v) * (u * v);
    let descent = slope * u;
    let direct_size = wall + abs(descent);

    // u v = u₀ v₀ + grown
    let grown = loss_map.center_hi.x * dv + v * du;
    let tilt = sharpness * center_uv * grown;
    let bend = 0.5 * sharpness * grown * grown;
    let fall = slope * du;
    let relative_size = abs(loss_map.center_loss) + abs(tilt) + bend + abs(fall);

    let above_center = tilt + bend - fall;
    let is_relative = relative_size < 4.0 * direct_size;
    let value = select(wall - descent, loss_map.center_loss + above_center, is_relative);
    return Loss(value, gradient, above_center, is_relative);
}
