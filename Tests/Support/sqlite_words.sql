-- Words of SQLite that the tests' queries use, for PostgreSQL: in a schema that stands behind the test's own one on the
-- search path, so that most tests have one query for both stores.
SELECT pg_advisory_lock(hashtext('syncd tests'));
CREATE SCHEMA IF NOT EXISTS sqlite_words;
SET search_path TO sqlite_words;

CREATE OR REPLACE FUNCTION iif(boolean, anyelement, anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE
  AS 'SELECT CASE WHEN $1 THEN $2 ELSE $3 END';
CREATE OR REPLACE FUNCTION instr(text, text) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT position($2 IN $1)';
CREATE OR REPLACE FUNCTION hex(bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT upper(encode($1, 'hex'))$$;
CREATE OR REPLACE FUNCTION hex(text) RETURNS text LANGUAGE sql IMMUTABLE
  AS $$SELECT upper(encode(convert_to($1, 'UTF8'), 'hex'))$$;

-- What SQLite's table would hold: decimals, instants, days, UUIDs and JSON are text there.
CREATE OR REPLACE FUNCTION typeof(anyelement) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN $1 IS NULL THEN 'null' ELSE CASE pg_typeof($1)::text
    WHEN 'bigint' THEN 'integer' WHEN 'integer' THEN 'integer' WHEN 'smallint' THEN 'integer'
    WHEN 'boolean' THEN 'integer' WHEN 'double precision' THEN 'real' WHEN 'real' THEN 'real'
    WHEN 'bytea' THEN 'blob' ELSE 'text' END END
$$;

CREATE OR REPLACE FUNCTION group_concat_step(text, anyelement, text) RETURNS text LANGUAGE sql IMMUTABLE
  AS $$SELECT CASE WHEN $2 IS NULL THEN $1 ELSE coalesce($1 || $3, '') || $2::text END$$;
CREATE OR REPLACE AGGREGATE group_concat(anyelement, text) (SFUNC = group_concat_step, STYPE = text);
CREATE OR REPLACE FUNCTION group_concat_step(text, anyelement) RETURNS text LANGUAGE sql IMMUTABLE
  AS $$SELECT CASE WHEN $2 IS NULL THEN $1 ELSE coalesce($1 || ',', '') || $2::text END$$;
CREATE OR REPLACE AGGREGATE group_concat(anyelement) (SFUNC = group_concat_step, STYPE = text);

-- What there is in the test's own schema; indexes of constraints have no row, and functions neither.
CREATE OR REPLACE VIEW sqlite_schema AS
  SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'i' THEN 'index' ELSE 'table' END AS type, c.relname::text AS name,
    CASE c.relkind WHEN 'v' THEN pg_get_viewdef(c.oid) WHEN 'i' THEN pg_get_indexdef(c.oid) ELSE (
      SELECT string_agg(x, ', ') FROM (
        SELECT concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
          CASE WHEN a.attnotnull THEN 'NOT NULL' END, 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)) AS x
        FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k WHERE k.conrelid = c.oid) t) END AS sql
  FROM pg_class c
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'i')
    AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = c.oid)
  UNION ALL SELECT 'trigger', t.tgname::text, pg_get_triggerdef(t.oid)
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
  WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal;
