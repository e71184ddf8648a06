// flame.js - whole stacks as a tree of boxes, callers above, each as wide as its share of the samples.

const HEIGHT = 20, NARROWEST_BOX = 0.002; // of the width

// Nodes of the answer, [depth, count, function, module, is_kernel], each before its children, as boxes of what
// lies below node 'top' and of what is above it: {index, depth, left, width}, shares of the width.
export function flameBoxes(nodes, top) {
  const boxes = [], lefts = [], above = [];
  let depth = nodes[top][0];
  for (let i = top; i >= 0 && depth >= 0; i--)
    if (nodes[i][0] === depth) { above.push(i); depth--; }
  for (const index of above.slice(1).reverse()) boxes.push({ index, depth: nodes[index][0], left: 0, width: 1, above: true });
  const whole = nodes[top][1] || 1;
  for (let i = top; i < nodes.length && (i === top || nodes[i][0] > nodes[top][0]); i++) {
    const [at, count] = nodes[i], left = i === top ? 0 : lefts[at];
    lefts[at] = left + count / whole;
    lefts[at + 1] = left;
    if (count / whole >= NARROWEST_BOX) boxes.push({ index: i, depth: at, left, width: count / whole });
  }
  return boxes;
}

// Into the document; a click on a box makes it as wide as the picture.
export function showFlame(tree, nodes, top, words) {
  const boxes = flameBoxes(nodes, top);
  tree.style.height = `${(Math.max(...boxes.map((box) => box.depth)) + 1) * HEIGHT}px`;
  tree.replaceChildren(...boxes.map(({ index, depth, left, width, above }) => {
    const box = document.createElement("button");
    box.type = "button";
    box.textContent = nodes[index][2] || "all";
    box.title = words(nodes[index]);
    box.className = [nodes[index][4] ? "kernel" : "", above ? "above" : ""].join(" ");
    box.setAttribute("role", "treeitem");
    box.setAttribute("aria-level", String(depth + 1));
    Object.assign(box.style, { left: `${left * 100}%`, width: `${width * 100}%`, top: `${depth * HEIGHT}px` });
    box.addEventListener("click", () => showFlame(tree, nodes, index, words));
    return box;
  }));
}
