// Lighting, fog and tone mapping: radiance is linear, and is converted to display values once, at the end.
float hash12(vec2 p) {
    vec2 q = 17.0 * fract(p * vec2(0.3183099, 0.3678794) + 0.113);
    return fract(q.x * q.y * (q.x + q.y));
}

float value_noise(vec2 p) {
    vec2 i = floor(p), f = p - i;
    f = f * f * (3.0 - 2.0 * f);
    vec2 x = 17.0 * fract(vec2(i.x, i.x + 1.0) * 0.3183099 + 0.113);
    vec2 y = 17.0 * fract(vec2(i.y, i.y + 1.0) * 0.3678794 + 0.113);
    vec4 corner = fract(x.xyxy * y.xxyy * (x.xyxy + y.xxyy));
    vec2 side = mix(corner.xz, corner.yw, f.x);
    return mix(side.x, side.y, f.y);
}

// The sky for reflections: without the halo around the sun.
vec3 sky_plain(vec3 d) {
    float t = 1.0 - clamp(d.z, 0.0, 1.0);
    float low = t * t;
    return mix(sky_zenith.rgb, sky_horizon.rgb, low * low);
}

vec3 sky_gradient(vec3 d) {
    float towards = max(dot(d, sun_direction.xyz), 0.0);
    return sky_plain(d) + glow.rgb * (sky_zenith.w * pow(towards, sky_horizon.w));
}

#ifdef OUT_RGB
#ifdef SUN
uniform sampler2DShadow shadow_still;   // static objects: SHADOW_SLOTS squares, the wide one first, then fine ones
uniform sampler2DShadow shadow_moving;  // moving objects, in the fine square of this picture
in vec3 shadow_close;                   // position of this surface in the fine and the wide square, -1..1
in vec3 shadow_wide;

float sun_visibility() {
    vec2 off = abs(shadow_close.xy), edge = abs(shadow_wide.xy);
    bool fine = max(off.x, off.y) < 0.98;
    vec3 at = (fine ? shadow_close : shadow_wide) * 0.5 + 0.5;
    at.x = floor(at.x * 262144.0) / 262144.0;  // makes adding the slot exact: equal light in all slots
    at.x = (at.x + (fine ? mirror_scale.z : 0.0)) * (1.0 / float(SHADOW_SLOTS));
    float lit = texture(shadow_still, at);
    if (fine) lit = min(lit, texture(shadow_moving, shadow_close * 0.5 + 0.5));
    float inside = clamp((1.0 - max(edge.x, edge.y)) * 8.0, 0.0, 1.0);
    return mix(1.0, lit, inside);
}
#endif

#ifdef NIGHT
vec3 lamp_light(vec3 rel, vec3 n) {
    vec3 sum = vec3(0.0);
    for (int i = 0; i < int(counts.x); ++i) {
        vec3 l = lamp_position[i].xyz - rel;
        float d2 = dot(l, l) + 0.5;
        vec3 u = l * inversesqrt(d2);
        sum += vec3(1.0, 0.78, 0.50) * (lamp_position[i].w * max(dot(n, u), 0.0) * smoothstep(0.15, 0.75, u.z) / d2);
    }
    for (int i = 0; i < int(counts.y); ++i) {
        vec3 l = beam_position[i].xyz - rel;
        float d2 = dot(l, l) + 0.5;
        vec3 u = l * inversesqrt(d2);
        float cone = smoothstep(0.86, 0.985, -dot(u, beam_direction[i].xyz));
        sum += vec3(1.0, 0.95, 0.85) * (beam_position[i].w * cone * (max(dot(n, u), 0.0) * 0.85 + 0.15) / (d2 * 0.2 + 8.0));
    }
    return sum;
}
#else
vec3 lamp_light(vec3 rel, vec3 n) { return vec3(0.0); }
#endif

vec3 light(vec3 albedo, vec3 n, vec3 rel, float ambient_access) {
    float facing = max(dot(n, sun_direction.xyz), 0.0);
#ifdef SUN
    vec3 sun = sun_colour.rgb * (facing * sun_visibility());
#else
    vec3 sun = sun_colour.rgb * facing;
#endif
    vec3 ambient = mix(ground_ambient.rgb, sky_ambient.rgb, n.z * 0.5 + 0.5) * ambient_access;
    return albedo * (sun + ambient + lamp_light(rel, n));
}

vec3 through_air(vec3 colour, vec3 rel) {
    float distance_m = length(rel);
    float thickness = fog_shape.w * distance_m;
#ifdef FOG
    float begin = min(fog_shape.x, distance_m);
    float slope = rel.z / distance_m;
    float path = distance_m - begin;
    float k = fog_shape.y;
    float drop = clamp(k * slope * path, -20.0, 20.0);
    float mean = abs(drop) < 0.001 ? 1.0 : (1.0 - exp(-drop)) / drop;
    float entry = exp(-clamp(k * (eye.z + slope * begin - fog_shape.z), 0.0, 20.0));
    thickness += fog_colour.w * path * entry * mean;
#endif
    float through = exp(-thickness);
    float towards = max(dot(rel, sun_direction.xyz) / distance_m, 0.0);
    vec3 air = fog_colour.rgb + glow.rgb * (towards * towards * towards * towards);
    return mix(air, colour, through);
}

#ifdef MIRROR_PASS
vec4 display(vec3 radiance) { return vec4(radiance, 1.0); }  // linear; the puddle's shading applies the display curve
#else
vec4 display(vec3 radiance) {
    // A filmic curve, x (2.51 x + 0.03) / (x (2.43 x + 0.59) + 0.14), and the sRGB transfer function in one step: a
    // rational function of sqrt(x), fitted to within 0.004.
#ifdef LOOK
    vec3 x = radiance * (sun_direction.w * look_light.rgb);
    vec3 s = sqrt(x);
    vec3 srgb = (look_curve.x * x + look_curve.y * s) / (look_curve.z * x + look_curve.w * s + 1.0);
#else
    vec3 x = radiance * sun_direction.w;
    vec3 s = sqrt(x);
    vec3 srgb = (5.72871 * x - 0.08034 * s) / (5.79049 * x - 0.57977 * s + 1.0);
#endif
    return vec4(srgb.bgr, dot(srgb, vec3(0.299, 0.587, 0.114)));  // BGR for the wire; luma for finish_frag.glsl
}
#endif
#endif

#ifdef OUT_RGB
layout(location = LOC_RGB) out vec4 out_rgb;
#endif
#ifdef OUT_DEPTH
layout(location = LOC_DEPTH) out float out_depth;
#endif
#ifdef OUT_LABELS
layout(location = LOC_LABELS) out uvec2 out_label;
#endif
