"""One HTML page of the graph: everything in it, nothing from anywhere else, texts only ever shown as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape

from gm_engine import Edge, Entity

_SCALE = 90
_STYLE = """
:root{color-scheme:light dark;--ink:#1d2330;--soft:#667085;--line:#c3cad6;--ground:#f7f8fa;--card:#fff;--mark:#3b6fd4}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#98a2b3;--line:#3d4655;--ground:#14171d;--card:#1d222b;
--mark:#7aa5ff}}
*{box-sizing:border-box}body{margin:0;font:14px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground)}
header{position:fixed;inset:0 0 auto 0;display:flex;
gap:16px;align-items:center;padding:12px 20px;background:var(--card);
border-bottom:1px solid var(--line)}h1{font-size:15px;margin:0}input{font:inherit;padding:6px 10px;width:260px;
border:1px solid var(--line);border-radius:6px;background:var(--ground);color:var(--ink)}
#said{color:var(--soft)}svg{position:fixed;inset:53px 0 0 0;width:100%;height:calc(100% - 53px);cursor:grab}
line{stroke:var(--line);stroke-width:1.2}circle{fill:var(--mark);stroke:var(--ground);stroke-width:2}
text{fill:var(--ink);font-size:12px;paint-order:stroke;stroke:var(--ground);stroke-width:3px}
.off{opacity:.12}.on line,line.on{stroke:var(--mark);stroke-width:2}
"""
_SCRIPT = """
const data=JSON.parse(document.getElementById('data').textContent),svg=document.querySelector('svg');
const near=new Map(data.nodes.map((_,i)=>[i,new Set([i])]));
data.edges.forEach(([a,b])=>{near.get(a).add(b);near.get(b).add(a)});
const nodes=[...svg.querySelectorAll('g.n')],
lines=[...svg.querySelectorAll('line')],said=document.getElementById('said');
function light(keep){nodes.forEach((g,i)=>g.classList.toggle('off',!!keep&&!keep.has(i)));
lines.forEach((l,i)=>{const[a,b]=data.edges[i],on=keep&&keep.has(a)&&keep.has(b);l.classList.toggle('on',!!on);
l.classList.toggle('off',!!keep&&!on)})}
nodes.forEach((g,i)=>g.addEventListener('click',e=>{e.stopPropagation();light(near.get(i));
said.textContent=data.nodes[i][0]+' · '+data.nodes[i][1]+' · '+(near.get(i).size-1)+' links'}));
svg.addEventListener('click',()=>{light(null);said.textContent=''});
document.querySelector('input').addEventListener('input',e=>{const w=e.target.value.toLowerCase();
light(w?new Set(data.nodes.map((n,i)=>n[0].toLowerCase().includes(w)?i:-1).filter(i=>i>=0)):null)});
let box=svg.getAttribute('viewBox').split(' ').map(Number),from=null;
const show=()=>svg.setAttribute('viewBox',box.join(' '));
svg.addEventListener('wheel',e=>{e.preventDefault();const k=e.deltaY>0?1.15:1/1.15,r=svg.getBoundingClientRect(),
x=box[0]+box[2]*(e.clientX-r.left)/r.width,y=box[1]+box[3]*(e.clientY-r.top)/r.height;
box=[x-(x-box[0])*k,y-(y-box[1])*k,box[2]*k,box[3]*k];show()},{passive:false});
svg.addEventListener('pointerdown',e=>{from=[e.clientX,e.clientY,...box]});
addEventListener('pointermove',e=>{if(!from)return;const r=svg.getBoundingClientRect(),k=Math.max(box[2]/r.width,
box[3]/r.height);box[0]=from[2]-(e.clientX-from[0])*k;box[1]=from[3]-(e.clientY-from[1])*k;show()});
addEventListener('pointerup',()=>{from=null});
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def graph_page(entities: Sequence[Entity], edges: Sequence[Edge], positions: Mapping[str, tuple[float, float]]) -> str:
    """The page: a drawing that needs no script to be read, search and neighbours with one."""
    number = {entity.id: at for at, entity in enumerate(entities)}
    places = [_place(positions.get(entity.id, (0.0, 0.0))) for entity in entities]
    data = {
        "nodes": [[entity.label or entity.id, entity.type] for entity in entities],
        "edges": [[number[edge.from_id], number[edge.to_id], edge.relation] for edge in edges],
    }
    lines = "".join(_line(places[number[e.from_id]], places[number[e.to_id]], e.relation) for e in edges)
    marks = "".join(_mark(entity, place) for entity, place in zip(entities, places, strict=True))
    count = f"{len(entities):,} entities, {len(edges):,} links"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width"><title>Knowledge graph</title>'
        f"<style>{_STYLE}</style></head><body><header><h1>Knowledge graph</h1>"
        f'<input type="search" placeholder="Find an entity" aria-label="Find an entity"><span>{count}</span>'
        f'<span id="said" dir="auto"></span></header><svg viewBox="{_box(places)}" role="img" aria-label="{count}">'
        f"{lines}{marks}</svg>"
        f'<script type="application/json" id="data">{_inert(data)}</script><script>{_SCRIPT}</script></body></html>\n'
    )


def _inert(data: object) -> str:
    """JSON that cannot end its script element, whatever the texts say."""
    text = json.dumps(data, ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\x7f", "\\u007f")


def _shown(text: str) -> str:
    """`text` for markup; characters that HTML does not know are replaced."""
    return escape("".join(char if char >= " " or char in "\n\t" else "\ufffd" for char in text), quote=True)


def _place(place: tuple[float, float]) -> tuple[int, int]:
    return round(place[0] * _SCALE), round(place[1] * _SCALE)


def _line(start: tuple[int, int], end: tuple[int, int], relation: str) -> str:
    ends = f'x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}"'
    return f"<line {ends}><title>{_shown(relation)}</title></line>"


def _mark(entity: Entity, place: tuple[int, int]) -> str:
    label = _shown((entity.label or entity.id)[:60])
    return (
        f'<g class="n" transform="translate({place[0]} {place[1]})"><circle r="7"/>'
        f'<text x="11" y="4">{label}</text><title>{_shown(entity.label)} · {_shown(entity.type)}</title></g>'
    )


def _box(places: Sequence[tuple[int, int]]) -> str:
    if not places:
        return "-200 -100 400 200"
    left, top = min(x for x, _ in places) - 80, min(y for _, y in places) - 80
    right, bottom = max(x for x, _ in places) + 220, max(y for _, y in places) + 80
    return f"{left} {top} {right - left} {bottom - top}"
