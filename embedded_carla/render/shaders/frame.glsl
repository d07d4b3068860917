// Uniforms of all programs: one std140 block, written once per picture (frame.py packs it in this order).
layout(std140) uniform Frame {
    mat4 view_projection;  // camera-relative position -> clip
    mat4 shadow_matrix;    // camera-relative position -> the fine square of the shadow map, -1..1
    mat4 shadow_far;       // the same for the wide square
    vec4 eye;              // xyz m, w: time s
    vec4 forward;          // xyz, w: unused
    vec4 right;            // xyz, w: tan of half the horizontal field of view
    vec4 up;               // xyz, w: tan of half the vertical field of view
    vec4 sun_direction;    // towards the sun; w: exposure
    vec4 sun_colour;       // irradiance; w: cloudiness 0..1
    vec4 sky_ambient;      // from above; w: 1 at night, 0 by day
    vec4 ground_ambient;   // from below; w: rain 0..1
    vec4 sky_zenith;       // radiance; w: halo strength
    vec4 sky_horizon;      // radiance; w: halo exponent
    vec4 fog_colour;       // w: density 1/m
    vec4 fog_shape;        // start m, falloff 1/m, base height m, haze density 1/m
    vec4 glow;             // in-scattered sunlight of the haze; w: dust 0..1
    vec4 ground_water;     // wetness, puddles, wind sway m, wind speed m/s
    vec4 counts;           // lamps, beams, cloud layers (0 or 1), wet (0 or 1)
    vec4 mirror_scale;     // 1 / width, 1 / height of the picture; z: slot of the fine square
    vec4 lamp_position[8];   // camera-relative; w: intensity
    vec4 beam_position[5];    // camera-relative; w: intensity
    vec4 beam_direction[5];
};
