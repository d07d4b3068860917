// Soft quads over the finished colour: see sprites.py, which makes them.
in vec4 centre;      // camera-relative; w: share of the distance that the depth test sees it nearer
in vec4 along;       // half axis; w: strength
in vec4 across;      // half axis; w: 1 covers what is behind, 0 adds to it
in vec4 paint;       // display colour, w: 0 round, 1 box, above 1: round with a core that much sharper
out vec2 place;
flat out vec4 tone;  // colour and cover, times strength
flat out float form;

void main() {
    vec2 corner = vec2((gl_VertexID & 1) == 1 ? 1.0 : -1.0, gl_VertexID >= 2 ? 1.0 : -1.0);
    vec3 rel = centre.xyz + along.xyz * corner.x + across.xyz * corner.y;
    place = corner;
    tone = vec4(paint.bgr, across.w) * along.w;
    form = paint.w;
    gl_Position = view_projection * vec4(rel * (1.0 - centre.w), 1.0);
}
