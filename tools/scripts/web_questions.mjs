// SPDX-License-Identifier: MIT
// Prints questions.html for build/web: tools/lab/questions.md in the frame of the page. A comment <!-- view: LINK -->
// is shown here alone, and leads into a view. Links to files of the repository keep their text.
//   node web_questions.mjs INDEX.html QUESTIONS.md
import { readFileSync } from 'node:fs';

const [index, source] = process.argv.slice(2).map((file) => readFileSync(file, 'utf8'));
const escaped = (text) => text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const link = (all, text, to) => /^(https:|#)/.test(to) ? `<a href="${to.replace(/^#/, './#')}">${text}</a>` : text;
const inline = (text) => escaped(text).replaceAll('\n', ' ').split(/(`[^`]*`)/)
  .map((part) => part.startsWith('`') ? `<code>${part.slice(1, -1)}</code>` : part).join('')
  .replace(/!\[([^\]]*)\]\([^)]*?([^/)]*)\)/g, '<img src="questions/$2" alt="$1" width="560">')
  .replace(/\[([^\]]*)\]\(([^)\s]*)\)/g, link).replace(/\*\*(.+?)\*\*/g, '<b>$1</b>');
const cells = (row, tag) => row.split('|').slice(1, -1).map((cell) => `<${tag}>${inline(cell.trim())}</${tag}>`).join('');
function block(text) {
  const [, title] = text.match(/^# (.*)/) ?? [], [, number, question] = text.match(/^## (\d+)\. (.*)/) ?? [];
  if (title) return `<h1>${inline(title)}</h1>`;
  if (number) return `<h2 id="q${number}">${number}. ${inline(question)}</h2>`;
  if (text.startsWith('- ')) return `<ul>${text.slice(2).split('\n- ').map((item) => `<li>${inline(item)}</li>`).join('')}</ul>`;
  if (text.startsWith('> ')) return `<blockquote>${inline(text.slice(2).replaceAll('\n> ', '\n'))}</blockquote>`;
  if (!text.startsWith('|')) return `<p>${inline(text)}</p>`;
  const [head, , ...rows] = text.split('\n');
  return `<div class="wide"><table${rows.join().length > 1000 ? ' class="long"' : ''}><tr>${cells(head, 'th')}</tr>${rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('')}</table></div>`;
}
const body = source.replace(/^(#.*)\n/gm, '$1\n\n').replace(/<!-- view: (.*?) -->/gs, '\n\n$1\n\n').replace(/<!--.*?-->\n?/gs, '\n\n')
  .replace(/^`tools\/scripts\/.*\n/m, '').split(/\n\n+/).filter((text) => text.trim()).map((text) => block(text.trim())).join('\n');
const frame = (from, to) => index.match(new RegExp(`${from}[^]*?${to}`))[0];
console.log(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${frame('<meta http-equiv', '>')}
<title>Twenty questions · Ordo</title>
${frame('<link rel="icon"', '>')}
<link rel="stylesheet" href="style.css">
</head>
<body>
${frame('<header>', '</nav>').replaceAll('href="#', 'href="./#')}
</header>
<main><section class="text">
${body}
</section></main>
</body>
</html>`);
