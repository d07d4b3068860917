// Instanced prototypes: a unit shape, an instance matrix (rows), a colour, and what moves it.
in vec3 in_position;
in vec3 in_normal;
in vec4 in_colour;   // rgb, w: part (parts.py)
in vec2 in_motion;   // how much the part moves; height of its pivot
in vec4 row_x;
in vec4 row_y;
in vec4 row_z;
in vec4 tint;        // rgb, w: seed 0..1
in vec4 size_tag;    // size m, w: semantic tag
in vec4 state;       // instance id, light bits, sway, limb angle rad
out vec3 rel;
#ifdef SHADOW
uniform mat4 shadow_clip;
#else
out vec3 normal;
out vec3 albedo;
out vec2 finish;     // gloss, emission
flat out uvec2 label;
out vec3 local;      // metres in the instance's frame
#ifdef FACADE
out vec3 bay;        // bays along the wall, floors up, 1 where there are windows
flat out float seed;
#endif
#ifdef SIGN
out vec3 face;       // u, v, layer
#endif
#endif

vec3 moved(vec3 p) {
    float a = in_motion.x * state.w;
    float z = p.z - in_motion.y;
    float s = sin(a), c = cos(a);
    float ratio = size_tag.z / size_tag.x;  // turn in metres, not in the unit shape
    vec3 q = vec3(p.x * c - z * s * ratio, p.y, in_motion.y + p.x * s / ratio + z * c);
    return state.w == 0.0 ? p : q;
}

#ifndef SHADOW
void paint() {
    int part = int(in_colour.w + 0.5);
    int bits = int(state.y + 0.5);
    vec3 own = in_colour.rgb;
    float blink = step(0.5, fract(eye.w * 1.5));
    bool head = (bits & 6) != 0, low = (bits & 7) != 0, brake = (bits & 8) != 0, reverse = (bits & 64) != 0;
    bool turn_right = (bits & 16) != 0, turn_left = (bits & 32) != 0;
    albedo = own;
    finish = vec2(0.0);
    if (part == 1) { albedo = own * tint.rgb; finish.x = 0.35; }                        // paint
    if (part == 2) { finish.x = 1.0; }                                                  // glass
    if (part == 3) { finish.y = brake ? 3.0 : (low ? 0.7 : 0.0); }                       // tail lamp
    if (part == 4) { finish.y = turn_left ? 3.0 * blink : 0.0; }
    if (part == 5) { finish.y = turn_right ? 3.0 * blink : 0.0; }
    if (part == 6) { finish.y = head ? 6.0 : 0.0; finish.x = 0.5; }                      // headlamp
    if (part == 7) { finish.y = reverse ? 3.0 : 0.0; }
    if (part == 8) { albedo = own * tint.rgb; }                                          // cloth, wall, leaf
    if (part >= 10 && part <= 12) { finish.y = bits == part - 10 ? 5.0 : 0.0; albedo = own * (bits == part - 10 ? 1.0 : 0.12); }
    if (part == 9) { albedo = own * (0.5 + 1.5 * fract(tint.w * vec3(5.3, 9.1, 13.7))); }      // trousers
    if (part == 13) { finish.y = 6.0 * sky_ambient.w; }                                  // street lamp
}
#endif

void main() {
    vec3 p = moved(in_position);
    vec3 place = vec3(dot(row_x.xyz, p) + row_x.w, dot(row_y.xyz, p) + row_y.w, dot(row_z.xyz, p) + row_z.w);
    if (state.z > 0.0) {
        float t = eye.w * 1.7 + row_x.w * 0.31 + row_y.w * 0.17 + in_position.z * 2.0;
        float bend = in_motion.x * state.z * ground_water.z;
        place.xy += bend * vec2(0.6 + 0.4 * sin(t), 0.35 * sin(t * 1.37 + 1.0));
    }
    rel = place - eye.xyz;
#ifdef SHADOW
    gl_Position = shadow_clip * vec4(rel, 1.0);
#else
    vec3 m = in_normal / (size_tag.xyz * size_tag.xyz);
    normal = normalize(vec3(dot(row_x.xyz, m), dot(row_y.xyz, m), dot(row_z.xyz, m)));
    local = in_position * size_tag.xyz;
    label = uvec2(uint(size_tag.w + 0.5), uint(state.x + 0.5));
    paint();
#ifdef FACADE
    bool along_y = abs(in_normal.x) > abs(in_normal.y);
    float width = along_y ? size_tag.y : size_tag.x;
    float bays = max(1.0, floor(width / (2.6 + 1.4 * fract(tint.w * 7.3))));
    float floors = max(1.0, floor(size_tag.z * in_motion.y / 3.1));
    float u = (along_y ? in_position.y : in_position.x) + 0.5;
    bay = vec3(u * bays, in_position.z / max(in_motion.y, 0.01) * floors, in_motion.x);
    seed = tint.w;
#endif
#ifdef SIGN
    face = vec3(in_colour.rg, state.y);
#endif
    gl_Position = view_projection * vec4(rel, 1.0);
#endif
}
