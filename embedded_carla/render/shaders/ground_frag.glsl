// Roads, markings, pavements, soil. SURFACE_* picks the look when the program is built: a software rasteriser pays
// for both sides of a branch.
in vec3 rel;
in vec3 normal;
in vec2 uv;
uniform vec3 base_colour;
uniform uint tag;

#ifdef OUT_RGB
#ifdef SURFACE_ASPHALT
vec3 surface_albedo(float near) {
    vec2 p = uv;
    float patches = value_noise(p * 0.35);
    float grain = hash12(floor(p * 90.0)) - 0.5;
    return base_colour * (0.90 + 0.20 * patches + grain * 0.34 * near);
}
#endif
#ifdef SURFACE_MARKING
vec3 surface_albedo(float near) {
    float worn = hash12(floor(uv * 22.0));
    return base_colour * (1.0 - 0.14 * worn * near);
}
#endif
#ifdef SURFACE_PAVING
vec3 surface_albedo(float near) {
    vec2 slab = uv / 0.9;
    vec2 w = fwidth(slab) + 0.02;
    vec2 f = abs(fract(slab) - 0.5);
    vec2 gap = smoothstep(0.5 - w, vec2(0.5), f) * clamp(0.04 / w, 0.0, 1.0);
    float tone = hash12(floor(slab)) - 0.5;
    return base_colour * (1.0 + 0.16 * tone * near) * (1.0 - 0.35 * max(gap.x, gap.y));
}
#endif
#ifdef SURFACE_GRASS
vec3 surface_albedo(float near) {
    float broad = value_noise(uv * 0.13);
    float fine = hash12(floor(uv * 9.0)) - 0.5;
    vec3 dry = base_colour * vec3(1.35, 1.05, 0.85);
    return mix(base_colour, dry, broad) * (0.9 + fine * 0.5 * near);
}
#endif
#ifdef SURFACE_PLAIN
vec3 surface_albedo(float near) {
    return base_colour * (0.92 + 0.16 * value_noise(uv * 1.7));
}
#endif
#endif

void main() {
#ifdef OUT_RGB
    float distance_m = length(rel);
    float near = clamp(1.6 - distance_m * 0.045, 0.0, 1.0);
    vec3 albedo = surface_albedo(near);
    vec3 n = normalize(normal);
#ifdef WET
    vec2 place = rel.xy + eye.xy;
    float hollow = value_noise(place * 0.19) * 0.6 + value_noise(place * 0.83) * 0.4;
    float puddle = (1.0 - smoothstep(-0.03, 0.03, hollow - 0.02 - 0.60 * ground_water.y)) * smoothstep(0.9, 0.99, n.z) * SOAKS;
    puddle *= step(0.001, ground_water.y);
    float wet = max(ground_water.x * SOAKS, puddle);
    albedo *= mix(1.0, 0.42, wet);
    vec3 colour = light(albedo, n, rel, 1.0);
    vec3 view = rel / distance_m;
    vec3 bounce = vec3(view.xy, abs(view.z));
    float grazing = 1.0 - clamp(-dot(view, n), 0.0, 1.0);
    float fresnel = 0.03 + 0.97 * grazing * grazing * grazing * grazing * grazing;
    float mirror = fresnel * max(puddle, 0.45 * wet);
    vec3 sky = sky_gradient(bounce);
    float spark = pow(max(dot(bounce, sun_direction.xyz), 0.0), 60.0);
    colour = mix(colour, sky + sun_colour.rgb * spark, clamp(mirror * 1.3, 0.0, 0.95));
#else
    vec3 colour = light(albedo, n, rel, 1.0);
#endif
    out_rgb = display(through_air(colour, rel));
#endif
#ifdef OUT_DEPTH
    out_depth = dot(rel, forward.xyz);
#endif
#ifdef OUT_LABELS
    out_label = uvec2(tag, 0u);
#endif
}
