// perfetto_sql.mjs - Perfetto's own trace_processor, as WebAssembly, on a trace.
//
// usage: node perfetto_sql.mjs FOLDER TRACE <QUERIES
//
// FOLDER is assets/trace-processor of the npm package that tools/get-perfetto fetches. QUERIES is
// a JSON object, name: SQL. Prints one, name: list of rows; numbers of 64 bits as texts.
import {webcrypto as crypto} from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";
import {pathToFileURL} from "node:url";

const CHUNK = 16 << 20;
const [folder, trace] = process.argv.slice(2);

// The glue is made for a worker of a browser: a MessagePort comes with the only message, and the
// program by a request. Here the program is handed over, and the port is this object.
function start(glue, wasm, received) {
  const port = {postMessage: received, onmessage: null};
  const location = {href: pathToFileURL(folder).href + "/"};
  const self = {location};
  const edits = [
    ["locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: holdupProgram,"],
    ["const wasmBridge = new wasm_bridge_1.WasmBridge();",
     "const wasmBridge = self.bridge = new wasm_bridge_1.WasmBridge();"],
    ["this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;"],  // not in the package
  ];
  for (const [from, to] of edits) {
    if (!glue.includes(from)) throw new Error("another version of the package: no " + from);
    glue = glue.replace(from, to);
  }
  const context = {
    self, holdupProgram: wasm, WebAssembly, TextDecoder, TextEncoder, URL, performance, console,
    setTimeout, clearTimeout, crypto, WorkerGlobalScope: Object, process: undefined,
    location,
    Uint8Array, ArrayBuffer, Error, TypeError,  // its instanceof must know ours
  };
  context.globalThis = context;
  vm.runInContext(glue, vm.createContext(context), {filename: "engine_bundle.node.js"});
  self.onmessage({data: port});
  return [port, self.bridge];
}

function plain(value) {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}

async function rowsOf(engine, sql) {
  const result = await engine.query(sql);
  const columns = result.columns();
  const rows = [];
  for (const it = result.iter({}); it.valid(); it.next())
    rows.push(columns.map((column) => plain(it.get(column))));
  return rows;
}

const read = (name) => fs.readFileSync(path.join(folder, name));
const {EngineBase} = await import(pathToFileURL(path.join(folder, "engine.mjs")).href);

class Engine extends EngineBase {
  mode = "WASM";
  id = "holdup";
  constructor() {
    super();
    [this.port, this.bridge] = start(read("engine_bundle.node.js").toString(),
                                     new Uint8Array(read("trace_processor.wasm")),
                                     (bytes) => this.onRpcResponseBytes(bytes));
  }
  rpcSendRequestBytes(bytes) {
    this.port.onmessage({data: bytes});
  }
}

const queries = JSON.parse(fs.readFileSync(0, "utf8"));
const engine = new Engine();
while (!engine.bridge.reqBufferAddr)  // until the program runs
  await new Promise((resolve) => setTimeout(resolve, 10));
const bytes = new Uint8Array(fs.readFileSync(trace));
for (let at = 0; at < bytes.length; at += CHUNK)
  await engine.parse(bytes.subarray(at, at + CHUNK));
await engine.notifyEof();
const out = {};
for (const [name, sql] of Object.entries(queries))
  out[name] = await rowsOf(engine, sql);
process.stdout.write(JSON.stringify(out) + "\n");
