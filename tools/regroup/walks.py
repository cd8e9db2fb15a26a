"""The eight walks: PYTHONPATH=CHECKOUT/src python walks.py [-v]. Compiled loops run in Python."""
import os,sys,io,contextlib,tempfile,pathlib
os.environ["NUMBA_DISABLE_JIT"]="1"
VERB='-v' in sys.argv
import numpy as np, kernelrank as kr
root=os.path.dirname(kr.__file__)+'/'
def walk(f):
    seen=[]
    def prof(frame,event,arg):
        fn=frame.f_code.co_filename
        if event!="call" or not fn.startswith(root): return
        m=fn[len(root):-3]
        if m in("compiled","base/compiled") or m.endswith("__init__"): return
        if frame.f_code.co_name=="<module>": return  # what is imported is not on the way
        if m not in seen: seen.append(m)
    sys.setprofile(prof)
    try: f()
    finally: sys.setprofile(None)
    return seen
rng=np.random.default_rng(0);X=rng.standard_normal((40,3));y=rng.integers(0,3,40)*1.;q=np.repeat(np.arange(8),5);b=(X[:,0]+.5*rng.standard_normal(40)>0).astype(int)
w=rng.integers(0,5,60);l=(w+1+rng.integers(0,4,60))%5
tmp=pathlib.Path(tempfile.mkdtemp())
(tmp/'t.csv').write_text("\n".join(["target,qid,a,b,c",*[",".join(map(str,r)) for r in zip(y,q,*X.T)]])+"\n")
(tmp/'b.csv').write_text("\n".join(["target,a,b,c",*[",".join(map(str,r)) for r in zip(b,*X.T)]])+"\n")
def cmd(*a):
    def f():
        from kernelrank.cli import main
        sys.argv=["kernelrank",*map(str,a)]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as e:
            try: main()
            except SystemExit as s:
                if s.code: raise RuntimeError(e.getvalue())
    return f
C={"RankRLS().fit":(15,lambda:kr.RankRLS().fit(X,y,qid=q)),"RankRLSCV().fit":(21,lambda:kr.RankRLSCV().fit(X,y,qid=q)),
"leave_pair_out":(17,lambda:kr.leave_pair_out(kr.RankRLS(),X,y)),"estimate_auc(RankRLSCV())":(28,lambda:kr.estimate_auc(kr.RankRLSCV(),X,b)),
"Leaderboard().fit().table()":(12,lambda:kr.Leaderboard().fit(w,l).table()),
"fit FILE":(32,cmd("fit",tmp/'t.csv',"-o",tmp/'m.kr',"--alpha","1")),"tune FILE --report":(45,cmd("tune",tmp/'t.csv',"-o",tmp/'n.kr',"--report",tmp/'r.html')),
"auc FILE":(45,cmd("auc",tmp/'b.csv'))}
for n,(limit,f) in C.items():
    try:
        if not n.endswith(("FILE","--report")): f()
        s=walk(f); print(f"{n}: {len(s)} (limit {limit})",*(s if VERB else []),flush=True)
    except BaseException as e: print(n,'failed',repr(e)[:300],flush=True)
