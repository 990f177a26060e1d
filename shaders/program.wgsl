// The loss of a landscape that runs as a program, in the coordinates x and y. Its functions `landscape_loss` and
// `landscape_gradient` are printed from the program and stand behind this file.

fn loss_at(dx: f32, dy: f32) -> Loss {
    let x = loss_map.center_hi.x + (loss_map.center_lo.x + dx);
    let y = loss_map.center_hi.y + (loss_map.center_lo.y + dy);
    return Loss(landscape_loss(x, y), landscape_gradient(x, y), 0.0, false);
}

fn landscape_uniform(index: u32) -> f32 {
    return loss_map.numbers[index / 4u][index % 4u];
}
