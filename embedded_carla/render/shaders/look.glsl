// A look other than the default: one std140 block, written once per renderer (look.py packs it in this order).
layout(std140) uniform Look {
    vec4 look_light;     // factor of the exposure, RGB; w: factor of the ground textures' frequency
    vec4 look_curve;     // a, b, c, d of the display curve (tone_curve.py)
    vec4 look_grade;     // saturation, contrast, offset of display values, vignette
    vec4 look_lens;      // bloom, sharpening, shift of colours in the corners px, edge smoothing
    vec4 look_paint;     // reflectance of paint, its saturation and brightness, reflectance of glass
    vec4 look_lamps;     // gain of signal lamps, gain of vehicle lamps, brightness of glass, darkness of wheel tracks
};
