"""Holds requests and replies against an OpenAPI description, and says which parts of it were never met."""
import re

METHODS = ("get", "put", "post", "delete")


class Described:
    def __init__(self, api):
        self.api, self.met = api, set()

    def resolve(self, pointer):
        """The schema at `pointer`, with references followed, and where it stands."""
        schema = self.api
        for name in pointer[2:].split("/"):
            schema = schema[int(name)] if isinstance(schema, list) else schema[name.replace("~1", "/").replace("~0", "~")]
        return self.resolve(schema["$ref"]) if "$ref" in schema else (schema, pointer)

    def differences(self, value, pointer, met):
        """What about `value` is not as the schema at `pointer` says. A field that a schema does not list is one, too."""
        schema, pointer = self.resolve(pointer)
        if "oneOf" in schema:
            fits = []
            for i in range(len(schema["oneOf"])):
                inner = set()
                if not self.differences(value, f"{pointer}/oneOf/{i}", inner):
                    fits.append(inner)
            if len(fits) != 1:
                return [f"{pointer}: {len(fits)} of the alternatives fit {str(value)[:100]}"]
            met.update(fits[0])
            return []
        if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
            return [f"{pointer}: {value!r}"]
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds and not any(self.is_kind(value, kind) for kind in kinds):
            return [f"{pointer}: {str(value)[:100]!r} is no {' or '.join(kinds)}"]
        if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
            return [f"{pointer}: {value!r} does not match"]
        if self.is_kind(value, "number") and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            return [f"{pointer}: {value} is out of range"]
        out = []
        if isinstance(value, dict) and "properties" in schema:
            out += [f"{pointer}: {name} is missing" for name in schema.get("required", ()) if name not in value]
            for name, item in value.items():
                if name not in schema["properties"]:
                    out.append(f"{pointer}: the field {name} is not described")
                    continue
                met.add(f"{pointer}/properties/{name}")
                out += self.differences(item, f"{pointer}/properties/{name}", met)
        if isinstance(value, list) and "items" in schema:
            for item in value:
                out += self.differences(item, f"{pointer}/items", met)
        return out

    @staticmethod
    def is_kind(value, kind):
        kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int, "number": (int, float)}
        return isinstance(value, kinds[kind]) and (kind == "boolean" or not isinstance(value, bool))

    def operation(self, method, target):
        """The pointer of the operation, or None where the description has none."""
        path = target.split("?")[0]
        for pattern in self.api["paths"]:
            if re.fullmatch(re.escape(pattern).replace(r"\{id\}", ".+"), path) and method.lower() in self.api["paths"][pattern]:
                return f"#/paths/{pattern.replace('/', '~1')}/{method.lower()}"
        return None

    def check(self, value, pointer):
        met = set()
        out = self.differences(value, pointer, met)
        self.met.update(met)
        return out

    def check_status(self, operation, status, media_type):
        """The pointer of the reply's schema, and what is wrong."""
        pointer = f"{operation}/responses/{status}"
        replies = self.resolve(operation)[0]["responses"]
        if str(status) not in replies:
            return None, [f"{operation}: the status {status} is not described"]
        self.met.add(pointer)
        kinds = replies[str(status)].get("content", {})
        if media_type not in kinds:
            return None, [f"{pointer}: {media_type} is not described"]
        return f"{pointer}/content/{media_type.replace('/', '~1')}/schema", []

    def parts(self):
        """Every reply of every operation, every parameter, and every field of every schema that one of them leads to."""
        out, walked = set(), set()

        def walk(pointer):
            schema, pointer = self.resolve(pointer)
            if pointer in walked:
                return
            walked.add(pointer)
            for i in range(len(schema.get("oneOf", ()))):
                walk(f"{pointer}/oneOf/{i}")
            for name in schema.get("properties", ()):
                out.add(f"{pointer}/properties/{name}")
                walk(f"{pointer}/properties/{name}")
            if "items" in schema:
                walk(f"{pointer}/items")

        for path, methods in self.api["paths"].items():
            for method in METHODS:
                if method not in methods:
                    continue
                operation, about = f"#/paths/{path.replace('/', '~1')}/{method}", methods[method]
                out.update(f"{operation}/parameters/{i}" for i in range(len(about.get("parameters", ()))))
                bodies = [(f"{operation}/requestBody", about["requestBody"])] if "requestBody" in about else []
                for status, reply in about["responses"].items():
                    out.add(f"{operation}/responses/{status}")
                    bodies.append((f"{operation}/responses/{status}", reply))
                for pointer, body in bodies:
                    for kind in body.get("content", ()):
                        walk(f"{pointer}/content/{kind.replace('/', '~1')}/schema")
        # What no operation refers to but by words, such as the events of a stream.
        for name in self.api["components"]["schemas"]:
            walk(f"#/components/schemas/{name}")
        return out
