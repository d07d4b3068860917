// Vehicles, walkers, furniture, plants (FOLIAGE), buildings (FACADE), sign faces (SIGN).
in vec3 rel;
in vec3 normal;
in vec3 albedo;
in vec2 finish;
flat in uvec2 label;
in vec3 local;
#ifdef FACADE
in vec3 bay;
flat in float seed;
#endif
#ifdef SIGN
in vec3 face;
uniform sampler2DArray faces;
#endif

#ifdef OUT_RGB
// What paint and glass mirror: the sky above a ragged skyline, the ground below it.
vec3 surroundings(vec3 d) {
    float skyline = 0.05 + 0.30 * value_noise(d.xy * 3.5 + 4.0);
    vec3 low = mix(ground_ambient.rgb * 0.7, sky_ambient.rgb * 0.16, smoothstep(-0.05, 0.0, d.z));
    return mix(low, sky_gradient(d), smoothstep(skyline - 0.03, skyline + 0.03, d.z));
}
#endif

void main() {
#ifdef OUT_RGB
    vec3 n = normalize(normal);
    vec3 base = albedo;
    float gloss = finish.x;
    float emission = finish.y;
    float access = 1.0;
#ifdef FOLIAGE
    float clump = value_noise(local.xy * 2.3 + local.z * vec2(1.9, -2.7));
    float leaf = hash12(floor(local.xy * 9.0 + local.z * vec2(7.0, 11.0)));
    base *= 0.45 + 0.75 * clump + 0.35 * leaf;
    n = normalize(n + (clump - 0.5) * vec3(0.8, -0.6, 0.5));
    access = 0.75;
#endif
#ifdef FACADE
    vec2 cell = vec2(bay.x, bay.y);
    vec2 id = floor(cell);
    vec2 w = clamp(fwidth(cell), 0.001, 0.5);
    vec2 f = abs(fract(cell) - 0.5);
    vec2 half_open = vec2(0.26 + 0.14 * fract(seed * 13.7), 0.24 + 0.10 * fract(seed * 5.1));
    vec2 open = 1.0 - smoothstep(half_open - w * 0.7, half_open + w * 0.7, f);
    float glass = open.x * open.y * bay.z;
    float sill = (1.0 - smoothstep(half_open.x + 0.03, half_open.x + 0.05 + w.x, f.x)) * (1.0 - smoothstep(0.03, 0.05, abs(fract(cell.y) - 0.47 + half_open.y))) * bay.z;
    float lot = hash12(id + seed * 91.0);
    base *= 0.94 + 0.10 * value_noise(local.xy * 0.6 + local.z * vec2(0.7, 0.9));
    base = mix(base, vec3(0.62, 0.60, 0.56), sill * 0.7);
    base = mix(base, mix(vec3(0.02, 0.03, 0.04), vec3(0.16, 0.15, 0.13), lot * lot), glass);
    gloss = mix(gloss, 0.10, glass);
    emission = glass * sky_ambient.w * step(0.62, lot) * 0.55;
    vec3 lit = mix(vec3(1.0, 0.72, 0.40), vec3(0.85, 0.92, 1.0), step(0.9, lot));
#else
    vec3 lit = base;
#endif
#ifdef SIGN
    base = texture(faces, face).rgb;
#endif
    vec3 colour = light(base, n, rel, access);
    vec3 view = normalize(rel);
    vec3 bounce = reflect(view, n);
    float grazing = 1.0 - clamp(-dot(view, n), 0.0, 1.0);
#ifndef FOLIAGE
    float away = grazing * grazing;
    float fresnel = gloss + (1.0 - gloss) * min(gloss * 20.0, 0.9) * away * away * grazing;
    float spark = pow(max(dot(bounce, sun_direction.xyz), 0.0), 160.0) * min(gloss * 20.0, 1.0);
    colour = mix(colour, surroundings(bounce), fresnel) + sun_colour.rgb * spark;
#endif
    colour += lit * (emission * (0.35 + 0.65 * (1.0 - sky_ambient.w)) / sun_direction.w);
    out_rgb = display(through_air(colour, rel));
#endif
#ifdef OUT_DEPTH
    out_depth = dot(rel, forward.xyz);
#endif
#ifdef OUT_LABELS
    out_label = label;
#endif
}
