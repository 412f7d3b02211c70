// Loaded in the page before anything else; `tools/labpage.py` calls these functions.
window.course = {
  widget: () => window.jupyterapp.shell.currentWidget,
  panel: () => window.course.widget().node,
  scroller: () => window.course.panel().querySelector('.jp-WindowedPanel-outer'),
  shown: element => Boolean(element && element.getClientRects().length),
  frame: () => new Promise(next => requestAnimationFrame(() => requestAnimationFrame(next))),

  // The status indicator says "idle" before there is a kernel, and "run all" without a kernel runs nothing,
  // clears the outputs and answers true. So ask the session itself.
  async ready() {
    const widget = window.course.widget();
    if (!widget?.sessionContext) return false;
    await widget.context.ready;
    await widget.sessionContext.ready;
    const kernel = widget.sessionContext.session?.kernel;
    return kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
  },

  async open_beside(path) {
    await window.jupyterapp.commands.execute('docmanager:open', {path, options: {mode: 'split-right'}});
    await window.course.bring_to_front(path);
  },

  async open_alone(path) {
    for (const widget of [...window.jupyterapp.shell.widgets('main')]) widget.dispose();
    await window.jupyterapp.commands.execute('docmanager:open', {path});
    await window.course.bring_to_front(path);
  },

  // What the command "Trust Notebook" does after its question.
  async trust() {
    const cells = window.course.widget().content.model.cells;
    for (let i = 0; i < cells.length; i++) cells.get(i).trusted = true;
    await window.course.frame();
  },

  async bring_to_front(path) {
    const found = [...window.jupyterapp.shell.widgets('main')].find(widget => widget.context?.path === path);
    window.jupyterapp.shell.activateById(found.id);
    while (window.course.widget() !== found) await window.course.frame();
  },

  run(command) {
    window.course.ran = null;
    window.jupyterapp.commands.execute(command).then(
      result => { window.course.ran = {ok: result !== false}; },
      error => { window.course.ran = {ok: false, why: String(error)}; },
    );
  },

  // Make a cell the active one, in command mode, with `source` typed into it if given.
  select(index, source) {
    const content = window.course.widget().content;
    content.activeCellIndex = index;
    content.deselectAll();
    content.mode = 'command';
    if (source != null) content.activeCell.model.sharedModel.setSource(source);
    content.activeCell.node.focus();
  },

  // Every output in the model (a traceback and plain stderr look alike on the page).
  outputs() {
    const cells = window.course.widget().content.model.cells;
    const all = [];
    for (let i = 0; i < cells.length; i++) {
      const cell = cells.get(i);
      if (cell.type !== 'code') continue;
      for (let j = 0; j < cell.outputs.length; j++)
        all.push({...cell.outputs.get(j).toJSON(), cell: i, id: cell.id});
    }
    return all;
  },

  errors: () => window.course.outputs().filter(output => output.output_type === 'error')
    .map(o => `cell ${o.cell} (${o.id}): ${o.ename}: ${o.evalue}`),

  // Widgets that should be drawn and are not. An output with a widget must show the widget: its HTML or text instead
  // is a failure too. (ToggleButtons have no class `jupyter-widgets`.)
  widgets() {
    const drawn = '.jupyter-widgets, [class*="widget-"]';
    const failed = [];
    let count = 0;
    window.course.widget().content.widgets.forEach((cell, index) => {
      if (cell.model.type !== 'code') return;
      const areas = cell.node.querySelectorAll('.jp-OutputArea-child');
      for (let j = 0; j < cell.model.outputs.length; j++) {
        if (!('application/vnd.jupyter.widget-view+json' in cell.model.outputs.get(j).data)) continue;
        const text = areas[j]?.textContent ?? '';
        const complaint = /(Error displaying|Error creating|Loading) widget.{0,160}/s.exec(text);
        if (complaint) failed.push(`cell ${index} output ${j}: ${complaint[0]}`);
        else if (!areas[j]?.querySelector(drawn))
          failed.push(`cell ${index} output ${j}: a widget in the model, none on the page: ${text.slice(0, 160)}`);
        else count++;
      }
    });
    return {count, failed};
  },

  loading: () => window.course.panel().textContent.includes('Loading widget'),

  async pictures() {
    const images = [...window.course.panel().querySelectorAll('img')].filter(window.course.shown);
    await Promise.allSettled(images.map(image => image.complete ? null : image.decode()));
    await document.fonts.ready;
  },

  // The text of every displayed element in document order: what a reader sees, without code being edited.
  text(root) {
    const walker = document.createTreeWalker(root ?? window.course.scroller(), NodeFilter.SHOW_TEXT);
    const parts = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (element.closest('style, script, .cm-editor, .jp-InputPrompt, .jp-OutputPrompt')) continue;
      if (node.data.trim() && window.course.shown(element)) parts.push(node.data.trim());
    }
    return parts.join('\n');
  },

  // Elements with a language whose visibility is not what the choice ("en", "zh", "both") asks for. Elements
  // inside a closed <details>, a hidden tab or another hidden part are not displayed anyway and are left out.
  wrongly_shown(choice) {
    const wrong = [];
    let looked = 0;
    // Widgets whose labels can hold one language only exist once per choice.
    for (const name of ['en', 'zh', 'both'])
      for (const element of window.course.panel().querySelectorAll(`.course-only-${name}`))
        if ((getComputedStyle(element).display !== 'none') !== (name === choice))
          wrong.push(`the variant for "${name}" is wrongly ${name === choice ? 'hidden' : 'shown'}: `
            + element.textContent.slice(0, 80));
    for (const element of window.course.panel().querySelectorAll('[lang]')) {
      const language = element.lang.split('-')[0];
      const wanted = choice === 'both' || language === choice;
      const displayed = getComputedStyle(element).display !== 'none';
      const outer = element.parentElement.closest('[lang]');
      if (outer?.closest('.jp-NotebookPanel') && outer.lang.split('-')[0] !== language)
        wrong.push(`a <${element.tagName.toLowerCase()} lang="${element.lang}"> inside lang="${outer.lang}"`);
      looked++;
      if (displayed !== wanted)
        wrong.push(`<${element.tagName.toLowerCase()} lang="${element.lang}"> is ${displayed ? 'shown' : 'hidden'}: `
          + element.textContent.slice(0, 80));
    }
    return {wrong, looked};
  },

  // Milliseconds from a click to `done()`, with style and layout up to date.
  async timed(click, done) {
    const start = performance.now();
    click();
    while (!done()) {
      if (performance.now() - start > 5000) return null;
      await new Promise(next => {
        const channel = new MessageChannel();
        channel.port1.onmessage = next;
        channel.port2.postMessage(0);
      });
    }
    window.course.panel().offsetHeight;
    return performance.now() - start;
  },

  // What reaches beyond the right edge of its cell, or is cut off or scrolls sideways inside its own box.
  // Code in an editor and boxes of class course-scroll / course-console may scroll: they have a visible scroll bar.
  overflow() {
    const found = [];
    const name = e => `<${e.tagName.toLowerCase()} class="${e.className.baseVal ?? e.className}">`;
    const start = e => (e.innerText ?? '').slice(0, 70).replace(/\s+/g, ' ');
    const walk = (element, right) => {
      for (const child of element.children) {
        const style = getComputedStyle(child);
        if (style.display === 'none' || style.visibility === 'hidden') continue;
        if (child.matches('.cm-editor, .jp-Toolbar')) continue;
        const box = child.getBoundingClientRect();
        if (box.width > 1 && box.right > right + 1) {
          found.push(`${name(child)} reaches ${Math.round(box.right - right)} px beyond its cell: ${start(child)}`);
          continue;
        }
        const may_scroll = child.matches('.course-scroll, .course-console, select, input');
        if (style.overflowX !== 'visible' && child.clientWidth > 1 && child.scrollWidth > child.clientWidth + 1) {
          if (may_scroll) continue;
          found.push(`${name(child)} is ${child.clientWidth} px wide for ${child.scrollWidth} px of content: ${start(child)}`);
        }
        walk(child, right);
      }
    };
    const scroller = window.course.scroller();
    for (const cell of scroller.querySelectorAll('.jp-Cell')) walk(cell, cell.getBoundingClientRect().right);
    if (scroller.scrollWidth > scroller.clientWidth + 1)
      found.push(`the notebook scrolls sideways: ${scroller.clientWidth} px wide for ${scroller.scrollWidth} px`);
    return found;
  },

  // Scroll to `top`, wait for the cells there to be drawn, and return the position, the view's and the page's height.
  async scroll(top) {
    const scroller = window.course.scroller();
    scroller.scrollTop = top;
    await window.course.frame();
    return [scroller.scrollTop, scroller.clientHeight, scroller.scrollHeight];
  },

  cell: index => window.course.widget().content.widgets[index].node,

  // What a student sees of the outputs before anything is run.
  first_look() {
    const images = [...window.course.panel().querySelectorAll('.jp-OutputArea img')];
    const cells = window.course.widget().content.model.cells;
    let trusted = true;
    for (let i = 0; i < cells.length; i++)
      if (cells.get(i).type === 'code' && cells.get(i).outputs.length) trusted &&= cells.get(i).trusted;
    return {
      trusted,
      text: [...window.course.panel().querySelectorAll('.jp-OutputArea-output')].map(e => e.textContent).join('\n'),
      images: images.map(image => ({alt: image.alt, width: image.naturalWidth})),
      html_outputs: [...window.course.panel().querySelectorAll('.jp-OutputArea-output[data-mime-type="text/html"]')]
        .filter(output => output.textContent.trim() || output.querySelector('img')).length,
    };
  },

  execution_counts() {
    const cells = window.course.widget().content.model.cells;
    return [...Array(cells.length).keys()].map(i => cells.get(i)).filter(c => c.type === 'code').map(c => c.executionCount);
  },

  // Text nodes of rendered prose and outputs (shown or not), without code.
  *prose(root) {
    const walker = document.createTreeWalker(root ?? window.course.scroller(), NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (!node.data.trim() || !element.closest('.jp-MarkdownOutput, .jp-OutputArea-output')) continue;
      if (element.closest('style, script, code, pre, .cm-editor, select, mjx-container, .MathJax')) continue;
      yield node;
    }
  },

  // Markdown or HTML that was not rendered, as a reader would see it.
  raw_markup() {
    const raw = /\*\*|<\/?(div|span|p|details|summary|figure|img|pre|br)\b|\]\(|^\s*#{1,6} |^\s*```|\|---/;
    return [...window.course.prose()].map(n => n.data.trim()).filter(t => raw.test(t)).map(t => t.slice(0, 120));
  },

  // Displayed paragraphs in the other language than the chosen one, found by their script and not by their
  // `lang`. Bilingual headings and the switch itself show both languages in any case.
  in_another_language(choice) {
    if (choice === 'both') return [];
    const found = new Set();
    for (const node of window.course.prose()) {
      const element = node.parentElement;
      if (!window.course.shown(element) || element.closest('h1, h2, h3, h4, h5, h6, .course-switch, .measured')) continue;
      const block = element.closest('p, li, td, th, dt, dd, figcaption, summary, button, label, div');
      if (block.closest('details:not([open])') && !element.closest('summary')) continue;
      const text = [...window.course.prose(block)].filter(n => window.course.shown(n.parentElement)).map(n => n.data).join(' ');
      // 中文 is that language's own name, as on the switch's button.
      const chinese = /[\u3400-\u9fff\uff00-\uffef\u3000-\u303f]/.test(text.replaceAll('中文', ''));
      const words = (text.match(/\b[a-z]{3,}\b/g) ?? []).length;
      if (choice === 'en' ? chinese : !chinese && words >= 4) found.add(text.replace(/\s+/g, ' ').trim().slice(0, 120));
    }
    return [...found];
  },

  // Milliseconds of `rounds` switches to each language, from the click on, style and layout included.
  async switching_times(rounds) {
    const buttons = window.course.panel().querySelectorAll('.course-switch button');
    const marked = [...window.course.panel().querySelectorAll('[lang]')];
    const probe = {en: marked.filter(e => e.lang === 'en').at(-1), zh: marked.filter(e => e.lang !== 'en').at(-1)};
    const hidden = element => getComputedStyle(element).display === 'none';
    buttons[2].click();
    const times = [];
    for (let round = 0; round < rounds; round++)
      for (const [index, en, zh] of [[0, true, false], [1, false, true], [2, true, true]]) {
        await new Promise(next => setTimeout(next, 150));  // the click before it is over, drawn and sent to the kernel
        times.push(await window.course.timed(
          () => buttons[index].click(), () => hidden(probe.en) !== en && hidden(probe.zh) !== zh));
      }
    return times;
  },

  // Wait until `holds()`; false after `seconds`. Polled in the page, because polling from Playwright is slow.
  async until(holds, seconds) {
    const end = performance.now() + 1000 * seconds;
    while (!holds()) {
      if (performance.now() > end) return false;
      await new Promise(next => setTimeout(next, 20));
    }
    return true;
  },

  squeezed: text => text.replace(/\s/g, ''),

  // Press the `index`-th displayed choice of a question and return what changed. `reason`: text that must then be
  // visible; `hidden`: text that must be in the page, in the other language; both without white space.
  async choose(box, {index, reason, hidden}) {
    const button = [...box.querySelectorAll('button')].filter(window.course.shown)[index];
    button.click();
    const visible = () => window.course.squeezed(window.course.text(box));
    return {
      answered: await window.course.until(
        () => visible().includes(reason) && button.classList.contains('course-chosen'), 60),
      translated: window.course.squeezed(box.textContent).includes(hidden),
      solved: box.querySelector('.course-card').classList.contains('course-solved'),
      replies: [...box.querySelectorAll('.course-card')].filter(window.course.shown).length,
      visible: visible(),
    };
  },

  // Answer all questions in document order; `choices` as for `choose`. For each its buttons' labels and what changed.
  // Stops at the first one that does not answer: waiting for all of them would take an hour.
  async answer_questions(choices) {
    const boxes = [...window.course.panel().querySelectorAll('.course-question.widget-box:not(:has(.course-moves))')];
    const found = [];
    for (const [number, box] of boxes.entries()) {
      const labels = [...box.querySelectorAll('button')].filter(window.course.shown).map(b => b.innerText);
      found.push({labels, ...await window.course.choose(box, choices[number])});
      if (!found.at(-1).answered) break;
    }
    return found;
  },

  // Open the hints of an exercise's card one after the other; for each whether it was hidden before, and its text.
  open_hints(card) {
    const steps = [];
    let inside = card;
    for (let hint; (hint = inside.querySelector(':scope > details')); inside = hint) {
      const summary = hint.querySelector(':scope > summary');
      const closed = [...hint.querySelectorAll('*')].filter(e => e !== summary && !summary.contains(e));
      const hidden = closed.every(e => !e.checkVisibility({contentVisibilityAuto: true}));
      summary.click();
      steps.push({hidden, text: window.course.squeezed(window.course.text(hint))});
    }
    return steps;
  },

  // Remember what `view` shows, and afterwards whether it shows something else within `seconds`.
  look_at(view) { window.course.seen = view.innerHTML; },
  changed: (view, seconds) => window.course.until(() => view.innerHTML !== window.course.seen, seconds),

  // Everything a learner acts on: choices of questions, controls of explorers, hints and solutions.
  focusable() {
    const all = '.course-question :is(button, .noUi-handle), .course-explorer :is(select, .noUi-handle), summary';
    window.course.targets = [...window.course.panel().querySelectorAll(all)].filter(e => {
      const closed = e.parentElement.closest(e.matches('summary') ? 'details details' : 'details');
      return window.course.shown(e) && !e.disabled && !(closed && closed.parentElement.closest('details:not([open])'));
    });
    return window.course.targets.map(e => ({text: e.textContent.slice(0, 80), tag: e.tagName}));
  },

  focused() {
    const index = (window.course.targets ?? []).indexOf(document.activeElement);
    if (index < 0) return null;
    const kind = document.activeElement.matches('summary') ? 'summary'
      : document.activeElement.matches('.course-question :not(.course-moves) > button') ? 'question' : 'control';
    return {index, kind};
  },

  // Before a key is pressed on the focused question or summary, and after it: has it done what it is for?
  before_key() {
    const element = document.activeElement;
    const open = element.parentElement.open;
    element.classList.remove('course-chosen');  // by an earlier press
    window.course.awaited = {element, done: () => element.matches('summary')
      ? element.parentElement.open !== open : element.classList.contains('course-chosen')};
  },
  async after_key() {
    const {element, done} = window.course.awaited;
    if (await window.course.until(done, 60)) return document.activeElement === element ? 'acted' : 'acted, and lost the focus';
    const kernel = window.course.widget().sessionContext.session?.kernel;
    return `nothing happened; the focus is on ${document.activeElement.outerHTML.slice(0, 200)}; the kernel is `
      + `${kernel?.connectionStatus} and ${kernel?.status}; ${element.outerHTML.slice(0, 200)}`;
  },
};
