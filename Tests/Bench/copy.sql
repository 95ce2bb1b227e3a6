-- What PostgreSQL's own tool does with the same rows: a copy into a temporary table, then one merge by the key.
CREATE TABLE IF NOT EXISTS book (
  id bigint PRIMARY KEY, title text NOT NULL, author text, country text, genre text, price double precision,
  pages bigint, in_stock boolean, published timestamptz(3), updated_at timestamptz(3), isbn text, tags jsonb,
  thumbnail text, summary text
);
BEGIN;
CREATE TEMPORARY TABLE incoming (LIKE book) ON COMMIT DROP;
\copy incoming FROM 'BOOKS.CSV' WITH (FORMAT csv)
INSERT INTO book SELECT * FROM incoming
ON CONFLICT (id) DO UPDATE SET
  title = excluded.title, author = excluded.author, country = excluded.country, genre = excluded.genre,
  price = excluded.price, pages = excluded.pages, in_stock = excluded.in_stock, published = excluded.published,
  updated_at = excluded.updated_at, isbn = excluded.isbn, tags = excluded.tags, thumbnail = excluded.thumbnail,
  summary = excluded.summary;
COMMIT;
