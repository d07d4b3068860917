// Edges smoothed along their direction (FXAA's idea: T. Lottes, 2009), on display values of the colour alone; drops
// on the lens (LENS) and the glare of a sun in view (GLARE).
flat in vec3 glare;
uniform sampler2D picture;
#ifdef LENS
uniform sampler2D surface;  // the cloud texture: its last channel holds the drops' thickness
#endif

void main() {
    ivec2 here = ivec2(gl_FragCoord.xy);
    vec2 texel = mirror_scale.xy;
    vec2 at = gl_FragCoord.xy * texel;
    float wet = 0.0;
#ifdef LENS
    vec2 aspect = vec2(texel.y / texel.x, 1.0) * 0.8;
    vec2 spot = at * aspect + vec2(0.0, floor(eye.w * 0.5) * 0.37);
    float thick = texture(surface, spot).a;
    vec2 bend = vec2(texture(surface, spot + vec2(0.004, 0.0)).a, texture(surface, spot + vec2(0.0, 0.004)).a) - thick;
    wet = smoothstep(0.0, 0.12, thick - mix(0.86, 0.56, ground_ambient.w));
    at -= bend * wet * 0.30;
    here = ivec2(clamp(at / texel, vec2(0.0), 1.0 / texel - 1.0));
#endif
    ivec2 last = textureSize(picture, 0) - 1;
    vec3 m = texelFetch(picture, here, 0).rgb;
    const vec3 luma = vec3(0.114, 0.587, 0.299);  // the picture is BGR
    ivec2 low = max(here - 1, ivec2(0)), high = min(here + 1, last);
    float nw = dot(texelFetch(picture, low, 0).rgb, luma);
    float ne = dot(texelFetch(picture, ivec2(high.x, low.y), 0).rgb, luma);
    float sw = dot(texelFetch(picture, ivec2(low.x, high.y), 0).rgb, luma);
    float se = dot(texelFetch(picture, high, 0).rgb, luma);
    float middle = dot(m, luma);
    float range = max(max(max(nw, ne), max(sw, se)), middle) - min(min(min(nw, ne), min(sw, se)), middle);
    for (int i = 0; i < int(range > 0.05); ++i) {  // a loop is skipped where all pixels of a group are flat
        vec2 along = vec2(sw + se - nw - ne, nw + sw - ne - se);
        float scale = 1.0 / (min(abs(along.x), abs(along.y)) + 0.03);
        along = clamp(along * scale, -4.0, 4.0) * texel;
        vec3 a = textureLod(picture, at - along * 0.17, 0.0).rgb;
        vec3 b = textureLod(picture, at + along * 0.17, 0.0).rgb;
        m = mix(m, (a + b) * 0.5, smoothstep(0.05, 0.12, range));
    }
#ifdef GLARE
    vec2 off = (at - glare.xy) * vec2(1.0, texel.x / texel.y);
    float r2 = dot(off, off);
    vec3 tint = mix(vec3(0.75, 0.92, 1.0), vec3(0.45, 0.75, 1.0), clamp(1.0 - sun_direction.z * 3.0, 0.0, 1.0));
    m += tint * glare.z * (0.55 / (1.0 + 220.0 * r2) + 0.20 / (1.0 + 12.0 * r2)) * (1.0 - 0.6 * m);
#endif
    out_rgb = vec4(m + vec3(0.06) * wet * (1.0 - m), 1.0);
}
