"""Files, lines, code lines, largest file, late imports, private names: python measure.py CHECKOUT."""
import ast,sys,io,tokenize,re
from pathlib import Path
from collections import Counter
S=Path(sys.argv[1])/'src/kernelrank'
files=sorted(S.rglob('*.py')); n=code=doc=0; sizes={}; consts=0; classes=Counter(); sk=set()
for p in files:
    t=p.read_text(); L=t.splitlines(); n+=len(L); sizes[p.relative_to(S).as_posix()]=len(L)
    tree=ast.parse(t); d=set()
    for k in ast.walk(tree):
        if isinstance(k,ast.Expr) and isinstance(k.value,ast.Constant) and isinstance(k.value.value,str): d|=set(range(k.lineno,k.end_lineno+1))
        if isinstance(k,ast.ClassDef): classes[k.name]+=1
        if isinstance(k,ast.ImportFrom) and re.match(r'sklearn.*\._|sklearn\._',(k.module or '')+'.'): sk.add(p)
    doc+=len(d)
    code+=sum(1 for i,l in enumerate(L,1) if l.strip() and not l.strip().startswith('#') and i not in d)
    for k in tree.body:
        if isinstance(k,(ast.Assign,ast.AnnAssign)):
            for x in ast.walk(k.targets[0] if isinstance(k,ast.Assign) else k.target):
                if isinstance(x,ast.Name) and re.fullmatch('_?[A-Z][A-Z0-9_]+',x.id): consts+=1
print('files',len(files),'lines',n,'code',code,'docstrings',doc,'largest',sorted(sizes.items(),key=lambda x:-x[1])[:5],'median',sorted(sizes.values())[len(sizes)//2])
print('constants',consts,'sklearn private modules',len(sk),'class names twice',{k:v for k,v in classes.items() if v>1})
