// Soft quads over the finished colour; sprites.py and debug_shapes.py make the rows.
in vec4 centre;      // camera-relative; w: depth bias towards the camera, fraction of the distance
in vec4 along;       // half axis; w: strength
in vec4 across;      // half axis; w: 1 covers the background, 0 adds light
in vec4 paint;       // display colour; w: 0 round, 1 box, 2 glare (bright core), 3 solid
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
