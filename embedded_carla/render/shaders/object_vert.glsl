// Instanced prototypes: a unit shape, an instance matrix (rows), a colour, and animation parameters.
in vec3 in_position;
in vec3 in_normal;
in vec4 in_colour;   // rgb, w: part (parts.py)
in vec2 in_motion;   // amount of sway, or limb number, or lamp radius; height of the pivot
in vec4 row_x;
in vec4 row_y;
in vec4 row_z;
in vec4 tint;        // rgb, w: seed 0..1
in vec4 size_tag;    // size m, w: semantic tag
in vec4 state;       // instance id, light bits, sway, gait phase rad (0: standing)
out vec3 rel;
#ifdef SHADOW
uniform mat4 shadow_clip;
#else
out vec3 normal;
#ifdef SUN
out vec3 shadow_close;
out vec3 shadow_wide;
#endif
out vec3 albedo;
out vec2 finish;     // reflectance at normal incidence, emission
flat out uvec2 label;
out vec3 local;      // metres in the instance's frame
#ifdef FACADE
out vec3 bay;        // m along the wall, m up, 1 on walls with windows, 2 on tiled roofs
flat out vec4 wall;  // bay width m, 1 on walls with shops, seed, style
#endif
#ifdef FOLIAGE
flat out float part_of;
#endif
#ifdef SIGN
out vec3 face;       // u, v, layer
#endif
#endif

// Limbs of a walking person: see shapes/walkers.py for the limb numbers and the heights of the joints.
vec3 turned(vec3 p, float pivot, float a) {
    float s = sin(a), c = cos(a), z = p.z - pivot;
    return vec3(p.x * c - z * s, p.y, pivot + p.x * s + z * c);
}

vec3 stride(vec3 p, float heights) {  // heights is 1 for a point, 0 for a direction
    int limb = int(in_motion.x + 0.5);
    bool right = limb == 3 || limb == 4 || limb >= 7;
    float phase = state.w + (right ? 3.14159265 : 0.0);
    float s = sin(phase), forward_leg = max(cos(phase), 0.0);
    float thigh = 0.04 + 0.42 * s, knee = 0.10 + 0.95 * forward_leg * forward_leg;
    float shoulder = -0.04 - 0.38 * s, elbow = 0.28 + 0.22 * max(-s, 0.0);
    bool leg = limb <= 4;
    bool lower = (limb & 1) == 0;
    if (lower) { p = turned(p, (leg ? 0.285 : 0.645) * heights, leg ? -knee : elbow); }
    p = turned(p, (leg ? 0.515 : 0.815) * heights, leg ? thigh : shoulder);
    return p;
}

vec3 moved(vec3 p, float heights) {
    if (state.w == 0.0) return p;
    vec3 q = in_motion.x > 0.5 ? stride(p, heights) : p;
    float s = sin(state.w);
    q.z -= 0.040 * s * s * heights;  // the hip drops when the legs are apart
    return q;
}

#ifndef SHADOW
float chance(float k) { return fract(tint.w * k + 0.37 * k); }

vec3 trousers() {
    float pick = chance(5.31);
    vec3 denim = mix(vec3(0.025, 0.045, 0.11), vec3(0.13, 0.19, 0.30), chance(9.7));
    vec3 plain = vec3(0.02 + 0.16 * chance(13.1));
    vec3 khaki = mix(vec3(0.28, 0.21, 0.12), vec3(0.45, 0.38, 0.28), chance(7.9));
    return pick < 0.45 ? denim : (pick < 0.8 ? plain : khaki);
}

vec3 skin() { return mix(vec3(0.60, 0.38, 0.27), vec3(0.085, 0.042, 0.025), pow(chance(3.7), 1.7)); }

vec3 hair() {
    float pick = chance(11.3);
    vec3 dark = mix(vec3(0.012, 0.010, 0.009), vec3(0.10, 0.05, 0.025), chance(4.9));
    return pick < 0.7 ? dark : (pick < 0.85 ? vec3(0.42, 0.28, 0.12) : vec3(0.38));
}

// A lit signal lamp is enlarged within its housing at a distance, so that it does not vanish between pixels.
vec3 grown(vec3 p) {
    int part = int(in_colour.w + 0.5);
    if (part < 10 || part > 12 || int(state.y + 0.5) != part - 10) return p;
    float distance_m = length(vec3(row_x.w, row_y.w, row_z.w) - eye.xyz);
    float radius_m = in_motion.x * size_tag.y;
    float larger = clamp(0.0034 * distance_m / radius_m, 1.0, 0.47 / in_motion.x);
    return vec3(p.x, p.y * larger, in_motion.y + (p.z - in_motion.y) * larger);
}

void paint() {
    int part = int(in_colour.w + 0.5);
    int bits = int(state.y + 0.5);
    vec3 own = in_colour.rgb;
    float blink = step(0.5, fract(eye.w * 1.5));
    bool head = (bits & 6) != 0, low = (bits & 7) != 0, brake = (bits & 8) != 0, reverse = (bits & 64) != 0;
    bool turn_right = (bits & 16) != 0, turn_left = (bits & 32) != 0;
    bool beacon = (bits & 1536) != 0;
    albedo = own;
    finish = vec2(0.0);
    if (part == 1) { albedo = own * tint.rgb; finish.x = 0.05; }                         // paint
    if (part == 2) { finish.x = 0.09; }                                                  // glass
    if (part == 3) { finish = vec2(0.04, brake ? 3.6 : (low ? 0.8 : 0.0)); }             // tail lamp
    if (part == 4) { finish = vec2(0.04, turn_left ? 4.0 * blink : 0.0); }
    if (part == 5) { finish = vec2(0.04, turn_right ? 4.0 * blink : 0.0); }
    if (part == 6) { finish = vec2(0.20, head ? 8.0 : (low ? 2.5 : 0.0)); }              // headlamp
    if (part == 7) { finish = vec2(0.08, reverse ? 4.0 : 0.0); albedo = own * (reverse ? 1.0 : 0.35); }
    if (part == 8) { albedo = own * tint.rgb; }                                          // cloth, wall, leaf
    if (part >= 10 && part <= 12) {                                                      // signal lamps
        finish.y = bits == part - 10 ? 2.6 : 0.0;
        albedo = own * (bits == part - 10 ? 1.0 : 0.06);
    }
#ifdef LOOK
    if (part == 1) {
        albedo = look_paint.z * own * max(mix(vec3(dot(tint.rgb, vec3(0.2126, 0.7152, 0.0722))), tint.rgb, look_paint.y), 0.0);
        finish.x = look_paint.x;
    }
    if (part == 2) { albedo *= look_lamps.z; finish.x = look_paint.w; }
    if ((part >= 3 && part <= 7) || part == 14) { finish.y *= look_lamps.y; }
    if (part >= 10 && part <= 12) { finish.y *= look_lamps.x; }
#endif
    if (part == 9) { albedo = own * trousers(); }
    if (part == 13) { finish.y = 6.0 * sky_ambient.w; }                                  // street lamp
    if (part == 14) { finish = vec2(0.04, brake ? 4.0 : 0.0); }
    if (part == 15) { finish = vec2(0.05, beacon ? 7.0 * step(0.5, fract(eye.w * 2.0)) : 0.0); }
    if (part == 16) { finish = vec2(0.05, beacon ? 7.0 * step(fract(eye.w * 2.0), 0.5) : 0.0); }
    if (part == 17) { finish.x = 0.45; }                                                 // chrome
    if (part == 18) { finish.x = 0.05; }                                                 // lacquer
    if (part == 19) { albedo = own * skin(); }
    if (part == 20) { albedo = own * hair(); }
}
#endif

void main() {
    vec3 p = moved(in_position, 1.0);
#ifndef SHADOW
    p = grown(p);
#endif
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
    vec3 m = moved(in_normal, 0.0) / (size_tag.xyz * size_tag.xyz);
    normal = normalize(vec3(dot(row_x.xyz, m), dot(row_y.xyz, m), dot(row_z.xyz, m)));
#ifdef SUN
    shadow_close = (shadow_matrix * vec4(rel + normal * 0.06, 1.0)).xyz;
    shadow_wide = (shadow_far * vec4(rel + normal * 0.5, 1.0)).xyz;
#endif
    local = in_position * size_tag.xyz;
    label = uvec2(uint(size_tag.w + 0.5), uint(state.x + 0.5));
    paint();
#ifdef FACADE
    bool along_y = abs(in_normal.x) > abs(in_normal.y);
    float width = along_y ? size_tag.y : size_tag.x;
    float u = (along_y ? in_position.y : in_position.x) + 0.5;
    bay = vec3(u * width, in_position.z * size_tag.z, in_motion.x);
    wall = vec4(width / max(1.0, floor(width / (2.5 + 1.5 * fract(tint.w * 7.3)))), in_motion.y * step(12.0, size_tag.z), tint.w, fract(tint.w * 17.31));
#endif
#ifdef FOLIAGE
    part_of = in_colour.w;
#endif
#ifdef SIGN
    face = vec3(in_colour.rg, state.y);
#endif
    gl_Position = view_projection * vec4(rel, 1.0);
#endif
}
