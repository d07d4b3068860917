// Roads, markings, pavements, soil. SURFACE_* selects the material at compile time, because a software rasteriser
// executes both sides of a branch. Detail comes from baked textures (textures.py); their mip maps avoid flicker in the
// distance.
in vec3 rel;
in vec3 normal;
in vec2 uv;
in float tone;
uniform vec3 base_colour;
uniform uint tag;

#ifdef OUT_RGB
uniform sampler2D surface;
#ifdef LOOK
#define DETAIL(frequency) (uv * (look_light.w * frequency))
#else
#define DETAIL(frequency) (uv * frequency)
#endif
#ifdef WET
uniform sampler2D hollows;
#ifdef MIRROR
uniform sampler2D mirror_picture;
#endif
#endif

#ifdef SURFACE_ASPHALT
vec3 surface_albedo() {
    float grain = texture(surface, DETAIL(0.37)).r;
    vec3 broad = texture(surface, DETAIL(0.045)).rgb;
    float worn = 1.0;
#ifdef TRACKS
    float across = mod(uv.y + 8.0, 16.0) - 8.0;  // distance from the middle of the lane
    float track = smoothstep(0.55, 0.10, abs(abs(across) - 0.80));
    worn = 1.0 - 0.10 * track - 0.05 * smoothstep(0.5, 0.0, abs(across));
#ifdef LOOK
    worn = mix(1.0, worn, look_lamps.w);
#endif
#endif
    float shade = (0.35 + 1.3 * grain) * (2.0 * broad.g) * (2.0 * broad.b) * worn * (1.0 + 0.13 * tone);
    return base_colour * shade * vec3(1.0 + 0.025 * tone, 1.0, 1.0 - 0.03 * tone);
}
#endif
#ifdef SURFACE_MARKING
vec3 surface_albedo() {
    vec3 wear = texture(surface, DETAIL(0.31)).rgb;
    float bare = min(wear.g * (0.75 + 0.25 * tone), 0.6);
    return mix(base_colour * (0.55 + 0.65 * wear.r + 0.25 * wear.b), vec3(0.11), bare);
}
#endif
#ifdef SURFACE_PAVING
vec3 surface_albedo() {
    float slab = texture(surface, DETAIL(0.30)).r;
    float stain = texture(surface, DETAIL(0.043)).b;
    return base_colour * (4.0 * slab * stain) * (1.0 + 0.08 * tone);
}
#endif
#ifdef SURFACE_STONE
vec3 surface_albedo() {
    vec3 block = texture(surface, DETAIL(0.25)).rgb;
    return base_colour * (4.0 * block.r * block.b) * (1.0 + 0.06 * tone);
}
#endif
#ifdef SURFACE_GRASS
vec3 surface_albedo() {
    float blades = texture(surface, DETAIL(0.41)).r;
    vec3 broad = texture(surface, DETAIL(0.029)).gba;
    float dry = clamp(broad.y + 0.35 * tone, 0.0, 1.0);
    vec3 colour = mix(base_colour * vec3(0.85, 1.0, 0.85), base_colour * vec3(1.9, 1.35, 1.25), dry * dry);
    colour = mix(colour, vec3(0.165, 0.125, 0.080), max(0.75 * broad.z, 0.9 * smoothstep(0.90, 0.75, normal.z)));
    return colour * (0.25 + 1.5 * blades) * (0.5 + broad.x);
}
#endif
#ifdef SURFACE_HILL
// Distant woods and meadows.
vec3 surface_albedo() {
    vec3 near = texture(surface, DETAIL(0.011)).rgb;
    vec3 broad = texture(surface, DETAIL(0.0016)).gba;
    float meadow = smoothstep(0.42, 0.62, broad.x + 0.25 * tone + 0.35 * (near.g - 0.5));
    vec3 woods = base_colour * (0.25 + 1.5 * near.r);
    return mix(woods, vec3(0.20, 0.185, 0.085) * (0.6 + 0.8 * near.b), meadow);
}
#endif
#endif

void main() {
#ifdef OUT_RGB
    vec3 albedo = surface_albedo();
    vec3 n = normalize(normal);
#ifdef WET
    float distance_m = length(rel);
    vec2 place = rel.xy + eye.xy;
    float hollow = texture(hollows, place * 0.021).a;
    float puddle = (1.0 - smoothstep(-0.025, 0.025, hollow - 0.06 - 0.62 * ground_water.y)) * smoothstep(0.9, 0.99, n.z) * SOAKS;
    puddle *= step(0.001, ground_water.y);
    float wet = max(ground_water.x * SOAKS, puddle);
    albedo *= mix(1.0, 0.42, wet);
    vec3 colour = light(albedo, n, rel, 1.0);
    vec3 view = rel / distance_m;
    vec3 bounce = vec3(view.xy, abs(view.z));
    float grazing = 1.0 - clamp(-dot(view, n), 0.0, 1.0);
    float fresnel = 0.03 + 0.97 * grazing * grazing * grazing * grazing * grazing;
    vec3 sky = sky_plain(bounce);
    float share = fresnel * 1.3 * max(puddle, 0.45 * wet);
#ifdef MIRROR
    vec2 ripple = (texture(hollows, place * 0.9 + eye.w * 0.35).rb - 0.5) * (0.012 + 0.03 * ground_ambient.w) * mix(2.5, 1.0, puddle);
    vec4 seen = texture(mirror_picture, gl_FragCoord.xy * mirror_scale.xy + ripple * vec2(0.4, 1.0));
    sky = mix(sky, seen.rgb, seen.a);
    share = max(share, 0.06 * puddle);
#endif
    float spark = pow(max(dot(bounce, sun_direction.xyz), 0.0), 60.0);
    colour = mix(colour, sky + sun_colour.rgb * spark, clamp(share, 0.0, 0.95));
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
