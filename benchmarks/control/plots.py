Traces = dict
def draw_all(folder, traces): pass
