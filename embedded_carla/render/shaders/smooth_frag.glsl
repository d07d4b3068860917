// Edges smoothed along their direction (FXAA's idea: T. Lottes, 2009), on display values of the colour alone.
in vec3 ray;
uniform sampler2D picture;

void main() {
    vec2 texel = 1.0 / vec2(textureSize(picture, 0));
    vec2 at = gl_FragCoord.xy * texel;
    ivec2 here = ivec2(gl_FragCoord.xy);
    ivec2 last = textureSize(picture, 0) - 1;
    vec3 m = texelFetch(picture, here, 0).rgb;
    const vec3 luma = vec3(0.114, 0.587, 0.299);  // the picture is BGR
    float nw = dot(texelFetch(picture, clamp(here + ivec2(-1, -1), ivec2(0), last), 0).rgb, luma);
    float ne = dot(texelFetch(picture, clamp(here + ivec2(1, -1), ivec2(0), last), 0).rgb, luma);
    float sw = dot(texelFetch(picture, clamp(here + ivec2(-1, 1), ivec2(0), last), 0).rgb, luma);
    float se = dot(texelFetch(picture, clamp(here + ivec2(1, 1), ivec2(0), last), 0).rgb, luma);
    vec2 along = vec2(sw + se - nw - ne, nw + sw - ne - se);
    float scale = 1.0 / (min(abs(along.x), abs(along.y)) + 0.03);
    along = clamp(along * scale, -4.0, 4.0) * texel;
    vec3 a = texture(picture, at - along * 0.17).rgb;
    vec3 b = texture(picture, at + along * 0.17).rgb;
    float middle = dot(m, luma);
    float range = max(max(max(nw, ne), max(sw, se)), middle) - min(min(min(nw, ne), min(sw, se)), middle);
    out_rgb = vec4(mix(m, (a + b) * 0.5, smoothstep(0.05, 0.12, range)), 1.0);
}
