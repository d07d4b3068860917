// Vehicles, walkers, furniture, plants (FOLIAGE), buildings (FACADE), sign faces (SIGN).
in vec3 rel;
in vec3 normal;
in vec3 albedo;
in vec2 finish;
flat in uvec2 label;
in vec3 local;
#ifdef FOLIAGE
flat in float part_of;
#endif
#ifdef FACADE
in vec3 bay;
flat in vec4 wall;
#endif
#ifdef SIGN
in vec3 face;
uniform sampler2DArray faces;
#endif

#ifdef OUT_RGB
// Reflection in paint and glass: the sky above a ragged skyline, the ground below it.
vec3 surroundings(vec3 d) {
    float skyline = 0.05 + 0.30 * value_noise(d.xy * 3.5 + 4.0);
    vec3 low = mix(ground_ambient.rgb * 0.7, sky_ambient.rgb * 0.16, smoothstep(-0.05, 0.0, d.z));
    return mix(low, sky_plain(d), smoothstep(skyline - 0.03, skyline + 0.03, d.z));
}
#endif

void main() {
#ifdef FOLIAGE
    // Leaves grow with distance, so that a crown's edge frays by about a pixel or two at any distance.
    float cell = clamp(length(rel) * 0.009, 0.10, 0.8);
    vec3 spot = floor(local / cell);
    float leaf = hash12(spot.xy * 1.31 + spot.z * vec2(3.7, 5.3));
    bool is_leaf = part_of > 7.5;
    float facing = abs(dot(normalize(normal), normalize(rel)));
    if (is_leaf && leaf > 0.16 + 1.35 * facing) discard;
#endif
#ifdef OUT_RGB
    vec3 n = normalize(normal);
    vec3 base = albedo;
    float gloss = finish.x;
    float emission = finish.y;
    float access = 1.0;
#ifdef FOLIAGE
    float clump = value_noise(local.xy * 2.3 + local.z * vec2(1.9, -2.7));
    if (is_leaf) base *= 0.42 + 0.85 * clump + 0.80 * leaf * leaf;
    n = normalize(n + (vec3(leaf, clump, fract(leaf * 7.3)) - 0.5) * 0.9);
    access = 0.80;
#endif
#ifdef FACADE
    // Styles 0 to 3: separate windows, bands of windows, glass front, tall windows with balconies.
    float street = wall.y * 4.2, seed = wall.z, style = floor(wall.w * 4.0);
    bool shop = bay.y < street;
    float storey = shop ? 4.2 : 3.1;
    float wide = shop ? wall.x * 1.6 : wall.x;
    vec2 cell = vec2(bay.x / wide, (shop ? bay.y : bay.y - street) / storey);
    vec2 id = floor(cell), p = fract(cell) - vec2(0.5, shop ? 0.42 : 0.52);
    vec2 w = clamp(fwidth(cell) * 0.7, 0.001, 0.5);
    vec2 open_half = shop ? vec2(0.45, 0.36) : (style == 0.0 ? vec2(0.24 + 0.10 * fract(seed * 13.7), 0.28) :
        (style == 1.0 ? vec2(0.52, 0.27) : (style == 2.0 ? vec2(0.475, 0.46) : vec2(0.30, 0.36))));
    vec2 edge = abs(p) - open_half;
    vec2 inside = 1.0 - smoothstep(-w, w, edge);
    vec2 framed = 1.0 - smoothstep(-w, w, edge + vec2(0.025, 0.03));
    float windows = step(0.5, bay.z) * step(bay.z, 1.5);
    float opening = inside.x * inside.y * windows, glass = framed.x * framed.y * windows;
    float bar = style == 2.0 ? 0.0 : 1.0 - smoothstep(0.012, 0.012 + w.x, abs(p.x));
    glass *= 1.0 - bar * (1.0 - smoothstep(0.02, 0.12, w.x));
    float lot = hash12(id + seed * 91.0 + (shop ? 37.0 : 0.0));
    float blind = shop || style == 2.0 ? 0.0 : step(0.35, lot) * step(0.5 - 0.9 * fract(lot * 7.7), p.y / open_half.y * 0.5);
    float stain = value_noise(local.xy * 0.6 + local.z * vec2(0.7, 0.9));
    base *= 0.90 + 0.16 * stain;
    float brick = step(0.5, fract(seed * 3.3)) * (1.0 - smoothstep(0.02, 0.06, w.y));
    base *= 1.0 - 0.16 * brick * step(0.82, fract(bay.y * 6.0));
    float slab = style >= 1.0 && !shop ? 1.0 - smoothstep(0.03, 0.03 + w.y, abs(fract(cell.y) - 0.02)) : 0.0;
    base = mix(base, base * 0.72, slab * windows);
    float board = shop ? step(0.83, fract(cell.y)) * step(fract(cell.y), 0.95) : 0.0;
    vec3 paintwork = 0.06 + 0.50 * fract(vec3(lot * 5.1, lot * 9.7, lot * 17.3)) * fract(vec3(lot * 3.1, lot * 7.9, lot * 11.3));
    base = mix(base, paintwork, board * windows);
    base = mix(base, vec3(0.50 + 0.2 * fract(seed * 5.7)) * (style == 2.0 || shop ? 0.25 : 1.0), opening * (1.0 - glass));
    vec3 room = mix(vec3(0.018, 0.022, 0.026), vec3(0.10, 0.09, 0.08), lot * lot);
    room = mix(room, vec3(0.42, 0.40, 0.36), blind * 0.8);
    vec2 ware = floor(vec2(bay.x * 2.2, bay.y * 2.6));
    float stock = hash12(ware + seed * 57.0);
    float shelf = smoothstep(-0.30, 0.20, -p.y);
    room = shop ? mix(vec3(0.07, 0.068, 0.062) * (0.5 + lot), mix(vec3(0.035), vec3(0.19, 0.16, 0.13), stock * lot), shelf * 0.8) : room;
    room *= 0.55 + 0.45 * smoothstep(0.0, 0.5, open_half.y - p.y);
    base = mix(base, room, glass);
    float rail = style == 3.0 && !shop ? step(fract(cell.y), 0.34) * step(0.10, fract(cell.y)) * step(0.5, hash12(vec2(floor(cell.x * 0.5), seed))) : 0.0;
    base = mix(base, vec3(0.10 + 0.35 * fract(seed * 8.3)), rail * windows * (0.45 + 0.55 * step(0.5, fract(bay.x * 8.0))));
    glass *= 1.0 - rail;
    if (bay.z > 1.5) { base *= (0.80 + 0.35 * hash12(floor(vec2(bay.x * 3.0, bay.y * 4.0)))) * (0.75 + 0.25 * smoothstep(0.0, 0.3, fract(bay.y * 4.0))); }
    gloss = mix(gloss, style == 2.0 ? 0.22 : 0.09, glass * (1.0 - blind * 0.7));
    emission = glass * sky_ambient.w * (shop ? step(0.25, lot) * (0.35 + 0.9 * stock) : step(0.62, lot) * (0.35 + 0.4 * fract(lot * 31.0)));
    vec3 lit = mix(vec3(1.0, 0.72, 0.40), vec3(0.85, 0.92, 1.0), step(0.82, lot));
#else
    vec3 lit = base;
#endif
#ifdef SIGN
    base = texture(faces, face).rgb;
#endif
    vec3 colour = light(base, n, rel, access);
#ifndef FOLIAGE
    vec3 view = normalize(rel);
    vec3 bounce = reflect(view, n);
    float grazing = 1.0 - clamp(-dot(view, n), 0.0, 1.0);
    float away = grazing * grazing;
    float fresnel = gloss + (1.0 - gloss) * min(gloss * 20.0, 0.9) * away * away * grazing;
    float spark = max(dot(bounce, sun_direction.xyz), 0.0);
    spark *= spark; spark *= spark; spark *= spark;                             // to the 8th
    float sharp = spark * spark; sharp *= sharp; sharp *= sharp;                // to the 64th
    spark = sharp * sharp * spark * spark * spark * spark * min(gloss * 20.0, 1.0);  // to the 160th
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
