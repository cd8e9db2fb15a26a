import ast,sys
from pathlib import Path
from collections import defaultdict
import networkx as nx
S=Path(sys.argv[1])/'src/kernelrank'
late=defaultdict(lambda: defaultdict(set)); tc=defaultdict(lambda: defaultdict(set)); top=defaultdict(lambda: defaultdict(set)); nlate=0; byroom=defaultdict(int)
fg=nx.DiGraph()
for p in sorted(S.rglob('*.py')):
    m=p.relative_to(S).with_suffix('').as_posix(); room=m.split('/')[0]
    t=ast.parse(p.read_text())
    tops=set(id(n) for n in t.body); tcs=set(id(k) for n in t.body if isinstance(n,ast.If) for k in ast.walk(n))
    trys=set(id(k) for n in t.body if isinstance(n,(ast.Try,ast.With)) for k in ast.walk(n))
    for n in ast.walk(t):
        if isinstance(n,ast.ImportFrom) and (n.module or '').startswith('kernelrank'):
            for a in n.names:
                q=n.module.split('.')[1:] or [a.name]
                r=q[0]
                if id(n) in tops or id(n) in trys:
                    if r!=room: top[room][r].add(m)
                    fg.add_edge(m,'/'.join(q))
                elif id(n) in tcs:
                    if r!=room: tc[room][r].add(m)
                else:
                    nlate+=1; byroom[room]+=1
                    if r!=room: late[room][r].add(m)
if __name__=='__main__':
    print('late imports',nlate,dict(byroom))
    g=nx.DiGraph([(a,b) for d in (top,) for a in d for b in d[a] if a!='__init__'])
    print('room cycles top',[c for c in nx.strongly_connected_components(g) if len(c)>1])
    g2=nx.DiGraph([(a,b) for d in (top,tc,late) for a in d for b in d[a] if a!='__init__'])
    for c in nx.strongly_connected_components(g2):
        if len(c)>1: print('room cycles all',c)
    order=list(nx.lexicographical_topological_sort(nx.condensation(g).reverse()))
    print('levels:')
    lev={}
    for n in reversed(list(nx.topological_sort(g))): lev[n]=1+max([lev[b] for b in g.successors(n)],default=-1)
    for l in sorted(set(lev.values())): print(l,sorted(k for k in lev if lev[k]==l))
    for nm,d in (('tc',tc),('late',late)):
        for a in d:
            for b in d[a]:
                if a in lev and b in lev and lev[b]>=lev[a]: print('UP',nm,a,'->',b,sorted(d[a][b]))
    print({k:sorted(v) for k,v in top.items()})
    print('file cycles', [c for c in nx.strongly_connected_components(fg) if len(c)>1])
