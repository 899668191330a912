CREATE TABLE users (name VARCHAR(63) NOT NULL, role VARCHAR(8) NOT NULL, token VARCHAR(64) NOT NULL, made_at VARCHAR(25) NOT NULL, PRIMARY KEY (name), UNIQUE (token));
CREATE TABLE results (id VARCHAR(128) NOT NULL, project VARCHAR(63) NOT NULL, pushed_by VARCHAR(63) NOT NULL, pushed_at VARCHAR(25) NOT NULL, measured_at VARCHAR(25) NOT NULL, device VARCHAR(200) NOT NULL, software VARCHAR(200) NOT NULL, problem TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (id));
CREATE INDEX ix_results_project ON results (project);
CREATE INDEX ix_results_pushed_at ON results (pushed_at);
CREATE TABLE speeds (result VARCHAR(128) NOT NULL, place INTEGER NOT NULL, series VARCHAR(16) NOT NULL, label VARCHAR(300) NOT NULL, device VARCHAR(200) NOT NULL, software VARCHAR(200) NOT NULL, measured_at VARCHAR(25) NOT NULL, item VARCHAR(40) NOT NULL, value FLOAT NOT NULL, low FLOAT NOT NULL, high FLOAT NOT NULL, before VARCHAR(128), ratio FLOAT, ratio_low FLOAT, ratio_high FLOAT, verdict VARCHAR(20), PRIMARY KEY (result, place), FOREIGN KEY(result) REFERENCES results (id));
CREATE INDEX of_a_series ON speeds (series, measured_at);
CREATE TABLE version (schema INTEGER NOT NULL, PRIMARY KEY (schema));
INSERT INTO version VALUES (1);
