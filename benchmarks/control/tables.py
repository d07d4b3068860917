def text(rows):
    out=[]
    for r in rows:
        out.append(f"{r['road']:6} {r['manoeuvre']:19} {r['speed_mps']:4.0f} {r['controller']:8} lat {r['lateral_rms_m']:.3f} max {r['lateral_max_m']:.2f} spd {r['speed_rms_mps']:.3f} over {r['overshoot_m']:.2f} settle {r['settling_s']} swings {r['swings']} shake {r['steer_shake']:.4f} {'LOST' if r['is_lost'] else ''}")
    return "\n".join(out)
