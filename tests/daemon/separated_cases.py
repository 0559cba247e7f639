"""Scripts on programs that give what is not plain data, change their arguments, raise, or lie: one case each."""

from __future__ import annotations

# name -> (program, script, entry point, outcome); every verdict is SEPARATED.
CASES: dict[str, tuple[str, str, str, str]] = {}


def _case(name: str, outcome: str, program: str, script: str, entry_point: str = "f") -> None:
    CASES[name] = (program, script, entry_point, outcome)


_case(
    "a plain call",
    "PASSED",
    "def f(x): return x+1",
    "assert f(1)==2",
    "f",
)
_case(
    "a result that is an argument",
    "PASSED",
    "def f(x): return x",
    """\
a=[1]
assert f(a) is a
""",
    "f",
)
_case(
    "an argument is the result",
    "FAILED",
    "def f(x): return x",
    """\
a=[1]
assert f(a) is not a
""",
    "f",
)
_case(
    "one list as two arguments",
    "PASSED",
    "def f(x,y): x.append(1); return y",
    """\
a=[]
assert f(a,a)==[1] and a==[1]
""",
    "f",
)
_case(
    "rows that are one list",
    "FAILED",
    "def f(n): return [[0]*n]*n",
    """\
g=f(2)
g[0][0]=1
assert g==[[1,0],[0,0]]
""",
    "f",
)
_case(
    "rows of their own",
    "PASSED",
    "def f(n): return [[0]*n for _ in range(n)]",
    """\
g=f(2)
g[0][0]=1
assert g==[[1,0],[0,0]]
""",
    "f",
)
_case(
    "a list inside a tuple changes",
    "PASSED",
    "def f(t): t[0].append(5)",
    """\
t=([1],2)
f(t)
assert t==([1,5],2)
""",
    "f",
)
_case(
    "a mutable default is shared, wrong",
    "FAILED",
    """\
def f(a,x=[]):
    x.append(a); return x
""",
    """\
r=f(1)
assert r==[1]
assert f(2)==[2]
""",
    "f",
)
_case(
    "a mutable default is shared",
    "PASSED",
    """\
def f(a,x=[]):
    x.append(a); return x
""",
    """\
r=f(1)
f(2)
assert r==[1,2]
""",
    "f",
)
_case(
    "a generator",
    "PASSED",
    """\
def f():
    yield 1
    yield 2
""",
    "assert list(f())==[1,2]",
    "f",
)
_case(
    "a match of a regular expression",
    "PASSED",
    """\
import re
def f(s): return re.match(r'(a)(b)',s)
""",
    """\
import re
m=f('ab')
assert m and m.group(1)=='a' and m[2]=='b' and isinstance(m,re.Match)
""",
    "f",
)
_case(
    "a closure",
    "PASSED",
    """\
def f(k):
    def g(x): return x+k
    return g
""",
    "assert f(2)(3)==5 and callable(f(1))",
    "f",
)
_case(
    "a linked list",
    "PASSED",
    """\
class N:
    def __init__(s,v,n=None): s.v=v; s.n=n
def f(xs):
    h=None
    for x in reversed(xs): h=N(x,h)
    return h
""",
    """\
h=f([1,2,3])
r=[]
while h:
    r.append(h.v); h=h.n
assert r==[1,2,3]
""",
    "f",
)
_case(
    "a method of an instance",
    "PASSED",
    """\
class Solution:
    def t(self,a): return a*2
""",
    "assert candidate(3)==6",
    "Solution().t",
)
_case(
    "a static method",
    "PASSED",
    """\
class Solution:
    @staticmethod
    def t(a): return a*2
""",
    "assert candidate(3)==6",
    "Solution.t",
)
_case(
    "a class for entry point",
    "PASSED",
    """\
class LRU:
    def __init__(s,c): s.c=c; s.d={}
    def put(s,k,v): s.d[k]=v
    def get(s,k): return s.d.get(k,-1)
""",
    """\
c=LRU(2)
c.put(1,2)
assert c.get(1)==2 and isinstance(c,LRU) and c.d=={1:2}
""",
    "LRU",
)
_case(
    "a class and no entry point",
    "PASSED",
    """\
class LRU:
    def __init__(s,c): s.c=c; s.d={}
    def put(s,k,v): s.d[k]=v
    def get(s,k): return s.d.get(k,-1)
""",
    """\
c=LRU(2)
c.put(1,2)
assert c.get(1)==2 and isinstance(c,LRU) and c.d=={1:2}
""",
    "",
)
_case(
    "a callback of the test",
    "PASSED",
    "def f(g,xs): return [g(x) for x in xs]",
    "assert candidate(lambda x: x+1,[1,2])==[2,3]",
    "f",
)
_case(
    "a builtin's name",
    "PASSED",
    """\
def sum(a):
    t=0
    for x in a: t+=x
    return t
""",
    "assert sum([1,2])==3",
    "sum",
)
_case(
    "a builtin's name, wrong",
    "FAILED",
    "def sum(a): return 0",
    "assert sum([1,2])==3",
    "sum",
)
_case(
    "a builtin's name and no entry point, wrong",
    "FAILED",
    "def sum(a): return 0",
    """\
assert sum([1,2])==3
assert sum([])==0
""",
    "",
)
_case(
    "an exception of the program is caught by its base",
    "PASSED",
    """\
class E(ValueError): pass
def f(x): raise E('bad',x)
""",
    """\
try: f(1)
except ValueError as e: assert e.args==('bad',1), e.args
else: assert 0
""",
    "f",
)
_case(
    "an exception's attributes",
    "PASSED",
    """\
class E(ValueError):
    def __init__(s,c): super().__init__('m%s'%c); s.code=c
def f(x): raise E(x)
""",
    """\
try: f(1)
except E as e: assert e.code==1 and str(e)=='m1' and type(e).__name__=='E'
else: assert 0
""",
    "f",
)
_case(
    "a KeyError",
    "PASSED",
    "def f(x): raise KeyError('a')",
    """\
try: f(1)
except KeyError as e: assert e.args==('a',) and str(e)=="'a'"
else: assert 0
""",
    "f",
)
_case(
    "a UnicodeDecodeError",
    "PASSED",
    "def f(x): return b'\\xff'.decode()",
    """\
try: f(1)
except UnicodeDecodeError as e: assert e.start==0 and 'utf-8' in str(e)
else: assert 0
""",
    "f",
)
_case(
    "StopIteration ends no iteration of the test",
    "RAISED",
    "def f(x): raise StopIteration",
    "assert all(map(candidate,[1]))",
    "f",
)
_case(
    "an object that equals everything",
    "FAILED",
    """\
class Y:
    def __eq__(s,o): return True
    def __ne__(s,o): return False
def f(x): return Y()
""",
    "assert f(1)==3",
    "f",
)
_case(
    "an object close to everything",
    "RAISED",
    """\
class Y:
    def __sub__(s,o): return 0.0
    __rsub__=__sub__
    def __abs__(s): return 0.0
    def __lt__(s,o): return True
def f(x): return Y()
""",
    "assert abs(f(1)-3.0)<1e-6",
    "f",
)
_case(
    "an object less than everything",
    "RAISED",
    """\
class Y:
    def __lt__(s,o): return True
    __gt__=__lt__
def f(x): return Y()
""",
    "assert f(1)<3",
    "f",
)
_case(
    "an object that contains everything",
    "RAISED",
    """\
class Y:
    def __contains__(s,o): return True
def f(x): return Y()
""",
    "assert 3 in f(1)",
    "f",
)
_case(
    "arithmetic between objects",
    "PASSED",
    """\
class V:
    def __init__(s,x): s.x=x
    def __add__(s,o): return V(s.x+o.x)
""",
    "assert (V(1)+V(2)).x==3",
    "V",
)
_case(
    "enumerations",
    "PASSED",
    """\
import enum
class Co(enum.IntEnum):
    RED=1
    BLUE=2
class D(enum.Enum):
    A='a'
def f(x): return Co.RED
def g(): return D.A
""",
    """\
assert f(1) == 1 and f(1) is Co.RED and f(1).name == 'RED'
assert g() is D.A and g() == D.A and D.A.value == 'a' and list(D) == [D.A]
""",
    "f",
)
_case(
    "a namedtuple",
    "PASSED",
    """\
from collections import namedtuple
P=namedtuple('P','x y')
def f(x): return P(1,2)
""",
    """\
p=f(1)
assert p==(1,2) and p.x==1 and p._fields==('x','y') and repr(p)=='P(x=1, y=2)' and p._replace(x=5)==(5,2)
""",
    "f",
)
_case(
    "values that compare",
    "PASSED",
    """\
from decimal import Decimal
from fractions import Fraction
import datetime
from collections import *
def f(x):
    numbers = [Decimal(2), Fraction(1, 2), datetime.date(2020, 1, 2)]
    views = [{1: 2}.keys(), memoryview(b'ab'), defaultdict(lambda: 7)]
    return [*numbers, deque([1]), OrderedDict(a=1), Counter('aa'), *views]
""",
    """\
import datetime
r=f(1)
assert r[0] == 2 and r[1] == 0.5 and r[2] == datetime.date(2020, 1, 2) and list(r[3]) == [1]
assert r[4] == {'a': 1} and r[5] == {'a': 2} and r[6] == {1} and r[7] == b'ab' and r[8]['q'] == 7
""",
    "f",
)
_case(
    "a name that is bound anew",
    "PASSED",
    """\
cnt=0
def f():
    global cnt
    cnt+=1
""",
    """\
f()
f()
assert cnt==2
""",
    "f",
)
_case(
    "a list with methods of its own",
    "PASSED",
    """\
class S(list):
    def push(s,x): s.append(x)

""",
    """\
s=S()
s.push(3)
assert s==[3] and len(s)==1 and isinstance(s,list)
s.append(4)
s.push(5)
assert s==[3,4,5]
""",
    "S",
)
_case(
    "a context manager",
    "PASSED",
    """\
class A:
    def __enter__(s): return 5
    def __exit__(s,*a): return True
""",
    """\
with A() as x:
    assert x==5
    1/0

""",
    "A",
)
_case(
    "objects of the test",
    "PASSED",
    """\
def f(n):
    if n.left: f(n.left)
    n.val+=1
    n.extra=[n.val]
    return n
""",
    """\
class T:
    def __init__(s,v,l=None): s.val=v; s.left=l
t=T(1,T(2))
assert f(t) is t and t.val==2 and t.left.val==3 and t.extra==[2]
""",
    "f",
)
_case(
    "the way from an object of the test to the script",
    "FAILED",
    "def f(n): return n.check.__globals__",
    """\
class T:
    def check(self): pass
try: f(T())
except AttributeError: assert 0
""",
    "f",
)
_case(
    "iterators of the test",
    "PASSED",
    "def f(it): return sum(it)",
    "assert f(iter([1,2]))==3 and f(x for x in [1])==1",
    "f",
)
_case(
    "the way from a generator of the test to the script",
    "FAILED",
    "def f(it): return it.gi_frame.f_globals",
    """\
try: f(x for x in [1])
except AttributeError: assert 0
""",
    "f",
)
_case(
    "a deep value",
    "PASSED",
    """\
def f(x):
    r=x
    for i in range(200): r=[r]
    return r
""",
    """\
r=f(1)
for i in range(200): r=r[0]
assert r==1
""",
    "f",
)
_case(
    "a value too deep",
    "FAILED",
    """\
def f(x):
    r=x
    for i in range(2000): r=[r]
    return r
""",
    "assert f(1)==1",
    "f",
)
_case(
    "depth that the candidate adds",
    "FAILED",
    """\
def f(x):
    for i in range(98): x[0]=[x[0]]
    return 0
""",
    """\
a=[1]
f(a)
for i in range(5): a=[a]; f(a)
assert f(a)==1
""",
    "f",
)
_case(
    "size that the candidate adds",
    "FAILED",
    """\
def f(x):
    x.append('x'*(9<<20))
    return 0
""",
    """\
a=[];b=[]
f(a);f(b)
f([a,b])
assert f(a)==0
""",
    "f",
)
_case(
    "the candidate leaves",
    "CRASHED",
    """\
def f(x):
    import os
    os._exit(0)
""",
    """\
try: f(1)
except BaseException: pass
""",
    "f",
)
_case(
    "an exception of the test",
    "PASSED",
    """\
def f(cb):
    try: cb()
    except ValueError as e: return str(e)
""",
    """\
def cb(): raise ValueError('zz')
assert f(cb)=='zz'
""",
    "f",
)
_case(
    "an exception of the test's own class comes back",
    "PASSED",
    "def f(cb): cb()",
    """\
class My(Exception): pass
e=My('q')
def cb(): raise e
try: f(cb)
except My as x: assert x is e
else: assert 0
""",
    "f",
)
_case(
    "a module the program imports",
    "PASSED",
    """\
import math
def f(x): return math.sqrt(x)
""",
    "assert math.isclose(f(4),2)",
    "f",
)
_case(
    "a module that is none",
    "FAILED",
    """\
class math:
    @staticmethod
    def isclose(a,b): return True
def f(x): return 0
""",
    "assert math.isclose(f(4),2)",
    "f",
)
_case(
    "a builtin redefined",
    "FAILED",
    """\
def f(x): return 0
abs=lambda x:0
""",
    "assert abs(f(4)-2)<1e-6",
    "f",
)
_case(
    "a builtin redefined and no entry point",
    "FAILED",
    """\
def f(x): return 0
abs=lambda x:0
""",
    """\
assert abs(f(4)-2)<1e-6
assert 1
""",
    "",
)
_case(
    "a builtin's name beside a module of the program",
    "PASSED",
    """\
import math

def sum(a, b):
    return math.gcd(a, b)
""",
    "import math\nx = []\nx.append(sum(4, 6))\nassert x == [2]",
    "",
)
_case(
    "a list sorted in place",
    "PASSED",
    "def f(x): x.sort(); return None",
    """\
a=[3,1]
assert f(a) is None and a==[1,3]
""",
    "f",
)
_case(
    "an exception of the standard library",
    "PASSED",
    """\
import json
def f(s): return json.loads(s)
""",
    """\
import json
try: f('{')
except json.JSONDecodeError as e: assert 'line 1' in str(e)
else: assert 0
""",
    "f",
)
_case(
    "views and empty iterators",
    "PASSED",
    "def f(d): return d.keys() if d else iter([])",
    """\
assert f({1:2})=={1}
assert list(f({}))==[]
""",
    "f",
)
_case(
    "a bare object",
    "PASSED",
    "def f(x): return object()",
    """\
o=f(1)
assert o is not f(1) and o==o and hash(o)==hash(o) and {o:1}[o]==1
""",
    "f",
)
_case(
    "a decorator",
    "PASSED",
    """\
def f(x):
    def dec(g):
        return lambda *a: g(*a)*2
    return dec
""",
    """\
@f(1)
def h(a,b): return a+b
assert h(1,2)==6
""",
    "f",
)
_case(
    "keyword arguments",
    "PASSED",
    "def f(a,*,k=1,**kw): return (a,k,kw)",
    "assert f(1,k=2,z=[3])==(1,2,{'z':[3]})",
    "f",
)
_case(
    "a text whose methods lie",
    "FAILED",
    """\
class Text(str):
    def startswith(self, prefix):
        return True
    def count(self, item):
        return 2

def f(x):
    return Text("no")
""",
    "assert f(1) == 'no'\nassert not f(1).startswith('yes')\nassert f(1).count('n') == 2",
)
_case(
    "a list whose methods lie",
    "FAILED",
    """\
class List(list):
    def count(self, item):
        return 2

def f(x):
    return List([1])
""",
    "assert f(1) == [1]\nassert f(1).count(1) == 2",
)
_case(
    "what a partial function was given",
    "FAILED",
    "def f(g):\n    return g.keywords",
    "import functools\ntry:\n    f(functools.partial(max, default=5))\nexcept AttributeError:\n    assert 0",
)
_case(
    "a format that the candidate chooses",
    "FAILED",
    "def f(g, other):\n    return g('{0.__globals__}', other)",
    "def own():\n    pass\n\ntry:\n    f(str.format, own)\nexcept AttributeError:\n    assert 0",
)
_case(
    "a method of a builtin type as a key",
    "PASSED",
    "def f(key, items):\n    return sorted(items, key=key)",
    "assert f(str.lower, ['b', 'A']) == ['A', 'b'] and f(len, ['bb', 'a']) == ['a', 'bb']",
)
_case(
    "a callback in the way of a result",
    "FAILED",
    """\
def f(node):
    node.is_right = lambda: True
""",
    """\
class Node:
    def is_right(self):
        return False

node = Node()
try:
    f(node)
except AttributeError:
    pass
assert node.is_right()
""",
)
_case(
    "a call into the test that calls back",
    "PASSED",
    "def f(g, n):\n    return 0 if n == 0 else 1 + g(n - 1)",
    "def g(n):\n    return f(g, n)\n\nassert f(g, 20) == 20",
)
_case(
    "calls back and forth without end",
    "RAISED",
    "def f(g):\n    return g()",
    "def g():\n    return f(g)\n\nassert f(g) == 20",
)
