// Glow: the bright parts of the picture at a quarter of its size (BRIGHT), or a blur along `stride`.
uniform sampler2D picture;
uniform vec2 pixel;   // 1 / size of what is drawn
uniform vec2 stride;  // one step of the blur, or one pixel of the source, as a fraction of the picture

vec3 bright(vec2 at) {
    vec3 c = texture(picture, at).rgb;
    return c * smoothstep(0.70, 1.0, max(c.r, max(c.g, c.b)));
}

void main() {
    vec2 at = gl_FragCoord.xy * pixel;
#ifdef BRIGHT
    vec2 across = vec2(stride.x, -stride.y);
    vec3 sum = 0.25 * (bright(at - stride) + bright(at + stride) + bright(at - across) + bright(at + across));
#else
    vec3 sum = 0.20 * texture(picture, at).rgb;
    sum += 0.18 * (texture(picture, at - stride).rgb + texture(picture, at + stride).rgb);
    sum += 0.12 * (texture(picture, at - 2.0 * stride).rgb + texture(picture, at + 2.0 * stride).rgb);
    sum += 0.07 * (texture(picture, at - 3.0 * stride).rgb + texture(picture, at + 3.0 * stride).rgb);
    sum += 0.03 * (texture(picture, at - 4.0 * stride).rgb + texture(picture, at + 4.0 * stride).rgb);
#endif
    out_rgb = vec4(sum, 1.0);
}
