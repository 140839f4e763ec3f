// A policy that speaks waPC, in AssemblyScript, for tests. It does what its
// sister in Go does. It has no parser of JSON: requests in the tests are written
// without spaces.

@external("wapc", "__guest_request")
declare function guestRequest(op: usize, payload: usize): void;
@external("wapc", "__guest_response")
declare function guestResponse(ptr: usize, len: usize): void;
@external("wapc", "__guest_error")
declare function guestError(ptr: usize, len: usize): void;
@external("wapc", "__host_call")
declare function hostCall(
  binding: usize, bindingLen: usize, namespace: usize, namespaceLen: usize,
  operation: usize, operationLen: usize, payload: usize, payloadLen: usize): bool;
@external("wapc", "__host_response_len")
declare function hostResponseLen(): usize;
@external("wapc", "__host_response")
declare function hostResponse(ptr: usize): void;
@external("wapc", "__host_error_len")
declare function hostErrorLen(): usize;
@external("wapc", "__host_error")
declare function hostError(ptr: usize): void;
@external("wapc", "__console_log")
declare function consoleLog(ptr: usize, len: usize): void;

export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  unreachable();
}

export function __guest_call(opLen: usize, payloadLen: usize): i32 {
  const op = new ArrayBuffer(<i32>opLen);
  const payload = new ArrayBuffer(<i32>payloadLen);
  guestRequest(changetype<usize>(op), changetype<usize>(payload));
  const operation = String.UTF8.decode(op);
  const text = String.UTF8.decode(payload);
  if (operation == "protocol_version") return answer('"v1"');
  if (operation == "validate_settings") {
    if (field(text, "label") == "forbidden") return answer('{"valid":false,"message":"the label must not be forbidden"}');
    return answer('{"valid":true}');
  }
  if (operation == "validate") return answer(validate(text));
  const message = String.UTF8.encode("no operation " + operation);
  guestError(changetype<usize>(message), message.byteLength);
  return 0;
}

function answer(text: string): i32 {
  const bytes = String.UTF8.encode(text);
  guestResponse(changetype<usize>(bytes), bytes.byteLength);
  return 1;
}

function validate(payload: string): string {
  const at = payload.lastIndexOf(',"settings":');
  const request = payload.substring(0, at);
  const settings = payload.substring(at);
  const namespace = field(settings, "namespace");
  if (namespace != "") return context(namespace);
  if (request.includes('"hostNetwork":true')) {
    const line = String.UTF8.encode("a pod on the host's network");
    consoleLog(changetype<usize>(line), line.byteLength);
    return '{"accepted":false,"message":"host network is not allowed"}';
  }
  const label = field(settings, "label");
  if (label == "") return '{"accepted":true}';
  const object = value(request, request.indexOf('"object":') + 9);
  const metadata = '"metadata":{';
  return '{"accepted":true,"mutated_object":' + object.replace(metadata, metadata + '"labels":{"' + label + '":"set"},') + "}";
}

function context(namespace: string): string {
  const binding = String.UTF8.encode("kubewarden");
  const group = String.UTF8.encode("kubernetes");
  const operation = String.UTF8.encode("get_resource");
  const payload = String.UTF8.encode('{"api_version":"v1","kind":"Namespace","name":"' + namespace + '"}');
  const ok = hostCall(
    changetype<usize>(binding), binding.byteLength, changetype<usize>(group), group.byteLength,
    changetype<usize>(operation), operation.byteLength, changetype<usize>(payload), payload.byteLength);
  const length = <i32>(ok ? hostResponseLen() : hostErrorLen());
  const buffer = new ArrayBuffer(length);
  if (ok) hostResponse(changetype<usize>(buffer));
  else hostError(changetype<usize>(buffer));
  const text = String.UTF8.decode(buffer).replaceAll('"', '\\"');
  if (ok) return '{"accepted":true,"message":"' + text + '"}';
  return '{"accepted":false,"message":"no context: ' + text + '"}';
}

// field is the text of the member name, or nothing.
function field(json: string, name: string): string {
  const key = '"' + name + '":"';
  const at = json.indexOf(key);
  if (at < 0) return "";
  const start = at + key.length;
  return json.substring(start, json.indexOf('"', start));
}

// value is the object that begins at start.
function value(json: string, start: i32): string {
  let depth = 0;
  for (let i = start; i < json.length; i++) {
    const c = json.charAt(i);
    if (c == "{") depth++;
    else if (c == "}" && --depth == 0) return json.substring(start, i + 1);
  }
  return "null";
}
