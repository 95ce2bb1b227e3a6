"""An OData 4 service on odatapy's in-memory processor: on_odata.py PORT serves it."""
import datetime
import os
import sys
import uuid
from decimal import Decimal

COUNT = 2000
ready = "/$metadata"
TYPES = {
    "ID": "Edm.Int32", "Name": "Edm.String", "Price": "Edm.Decimal", "Big": "Edm.Int64", "Released": "Edm.Date",
    "UpdatedAt": "Edm.DateTimeOffset", "InStock": "Edm.Boolean", "Ref": "Edm.Guid"}


def command(_folder, port):
    from serve import VENV
    return [os.path.join(VENV, "python"), os.path.abspath(__file__), str(port)], {}


def fill(_address, _folder):
    pass


def change(address, _folder):
    from walking import ask
    for i in range(3, COUNT, 200):
        ask(f"{address}/Products({i})", "DELETE")
    for i in range(6, COUNT, 300):
        ask(f"{address}/Products({i})", "PATCH", {"Name": "changed", "Price": None})
    for i in range(COUNT + 1, COUNT + 41):
        ask(f"{address}/Products", "POST", {
            "ID": i, "Name": f"New {i}", "Price": 9.5, "Big": i, "Released": "2024-02-29",
            "UpdatedAt": "2024-03-01T00:00:00Z", "InStock": True, "Ref": str(uuid.UUID(int=i))})


def listing(address, _folder):
    from walking import walk
    for page in walk(address + "/Products", lambda page, fields, url: page.get("@odata.nextLink")):
        for row in page["value"]:
            yield [
                row["ID"], row["Name"], row["Price"] if row["Price"] is None else float(row["Price"]), row["Big"],
                row["Released"], row["UpdatedAt"], row["InStock"], row["Ref"]]


def values(i):
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
    return (
        i, f"Product {i} ü", None if i % 9 == 0 else Decimal(i) / 4, 2**53 + i,
        datetime.date(2020, 1, 1) + datetime.timedelta(days=i), start + datetime.timedelta(seconds=i), i % 2 == 0,
        uuid.UUID(int=i))


def application():
    from odatapy.data import Entity, ValueType
    from odatapy.edm import csdl
    from odatapy.server import OData
    from odatapy.server.adapters import ODataWSGIApp
    from odatapy.server.inmemory import InMemoryDataStore, InMemoryProcessor

    class Provider(csdl.CsdlAbstractEdmProvider):
        def get_schemas(self):
            properties = [
                csdl.CsdlProperty(
                    name=name, type=kind, nullable=name != "ID",
                    **({"precision": 12, "scale": 2} if kind == "Edm.Decimal" else {}))
                for name, kind in TYPES.items()]
            product = csdl.CsdlEntityType(
                name="Product", key=[csdl.CsdlPropertyRef(name="ID")], properties=properties)
            products = csdl.CsdlEntitySet(name="Products", type="Shop.Product")
            container = csdl.CsdlEntityContainer(name="Container", entity_sets=[products])
            return [csdl.CsdlSchema(namespace="Shop", entity_types=[product], entity_container=container)]

    rows = []
    for i in range(1, COUNT + 1):
        row = Entity()
        for (name, kind), value in zip(TYPES.items(), values(i)):
            row.set_property(name, value, ValueType.PRIMITIVE, kind)
        rows.append(row)
    store = InMemoryDataStore()
    store.set_entities("Products", rows)
    odata = OData.new_instance()
    handler = odata.create_handler(odata.create_service_metadata(Provider()))
    handler.register(InMemoryProcessor(store, page_size=100))
    return ODataWSGIApp(handler)


if __name__ == "__main__":
    from socketserver import ThreadingMixIn
    from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

    class Server(ThreadingMixIn, WSGIServer):
        daemon_threads = True

    class Handler(WSGIRequestHandler):
        def log_message(self, *_):
            pass

    make_server("127.0.0.1", int(sys.argv[1]), application(), Server, Handler).serve_forever()
