// Edge smoothing along the edge direction (FXAA's idea: T. Lottes, 2009), computed from display colours only; drops on
// the lens (LENS) and glare of a sun in view (GLARE). A look (LOOK) adds bloom, fringes, sharpening, vignette and grading.
flat in vec3 glare;
uniform sampler2D picture;
#ifdef LENS
uniform sampler2D surface;  // the cloud texture; its last channel is the thickness of the drops
#endif
#ifdef BLOOM
uniform sampler2D bloom;  // blurred bright parts of the picture (passes/bloom.py)
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
    vec4 own = texelFetch(picture, here, 0);  // BGR and luma
    vec3 m = own.rgb;
    ivec2 low = max(here - 1, ivec2(0)), high = min(here + 1, last);
    float nw = texelFetch(picture, low, 0).a;
    float ne = texelFetch(picture, ivec2(high.x, low.y), 0).a;
    float sw = texelFetch(picture, ivec2(low.x, high.y), 0).a;
    float se = texelFetch(picture, high, 0).a;
    float range = max(max(max(nw, ne), max(sw, se)), own.a) - min(min(min(nw, ne), min(sw, se)), own.a);
    vec2 along = vec2(sw + se - nw - ne, nw + sw - ne - se);
    vec2 size = abs(along);
    float longer = max(size.x, size.y);
    float reach = 0.17 * min(longer / (min(size.x, size.y) + 0.03), 4.0);  // pixels
    ivec2 next = ivec2(round(along / max(longer, 0.001)));
    vec3 a = texelFetch(picture, clamp(here - next, ivec2(0), last), 0).rgb;
    vec3 b = texelFetch(picture, clamp(here + next, ivec2(0), last), 0).rgb;
#ifdef LOOK
    reach *= look_lens.w;
#endif
    m = mix(m, (a + b) * 0.5, reach * smoothstep(0.05, 0.12, range));
#ifdef LOOK
    vec2 corner = 2.0 * at - 1.0;
#ifdef FRINGE
    vec2 apart = corner * texel * look_lens.z;
    m.r += texture(picture, at - apart).r - own.r;
    m.b += texture(picture, at + apart).b - own.b;
#endif
    m += look_lens.y * (own.a - 0.25 * (nw + ne + sw + se));
#ifdef BLOOM
    m += look_lens.x * texture(bloom, at).rgb * (1.0 - 0.5 * m);
#endif
    m *= 1.0 - 0.5 * look_grade.w * dot(corner, corner);
    m = mix(vec3(dot(m, vec3(0.114, 0.587, 0.299))), m, look_grade.x) * look_grade.y + look_grade.z;
#endif
#ifdef GLARE
    vec2 off = (at - glare.xy) * vec2(1.0, texel.x / texel.y);
    float r2 = dot(off, off);
    vec3 tint = mix(vec3(0.75, 0.92, 1.0), vec3(0.45, 0.75, 1.0), clamp(1.0 - sun_direction.z * 3.0, 0.0, 1.0));
    m += tint * glare.z * (0.55 / (1.0 + 220.0 * r2) + 0.20 / (1.0 + 12.0 * r2)) * (1.0 - 0.6 * m);
#endif
    out_rgb = vec4(m + vec3(0.06) * wet * (1.0 - m), 1.0);
}
