"""Books with dlt's REST source, merged by id. Usage: dlt_books.py DATABASE URL    (pip: dlt[sqlalchemy])"""
import os
import sys
import tempfile
import urllib.parse

import dlt
from dlt.sources.rest_api import rest_api_source

database, url = os.path.abspath(sys.argv[1]), sys.argv[2]
source = rest_api_source(
    {
        "client": {
            "base_url": urllib.parse.urljoin(url, "/"),
            "paginator": {"type": "json_link", "next_url_path": "next"},
        },
        "resources": [
            {
                "name": "book",
                "primary_key": "id",
                "write_disposition": "merge",
                "endpoint": {"path": urllib.parse.urlparse(url).path, "data_selector": "data.results"},
            }
        ],
    },
    # Lists stay in their column.
    max_table_nesting=0,
)
with tempfile.TemporaryDirectory() as folder:
    pipeline = dlt.pipeline(
        "books", destination=dlt.destinations.sqlalchemy("sqlite:///" + database), dataset_name="main",
        pipelines_dir=folder)
    print(pipeline.run(source))
