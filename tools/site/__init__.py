"""The website: every lesson as a page in three languages, made from the notebooks and from nothing else.

Why no site generator. What was tried, on lessons 01 and 07 with their outputs (November 2026):

- Sphinx 9.0 + MyST-NB + Furo: quick (2 s), readable on a phone. But with Chinese as its language the search does not
  start (sphinx-doc/sphinx#14229), and from a folder it stops after the first result, because it fetches each page it
  found. Without jieba, which is made for Simplified Chinese, it indexes no Chinese word at all.
- Quarto: its search needs a web server (quarto-dev/quarto-cli#3028). Books in several languages are one project each.
- MyST (Jupyter Book 2): needs Node, and a theme from the network while it builds; one language per project.
- nbconvert's HTML: MathJax, require.js and mermaid from other servers, 300 kB of styles in each page.

What is left to do is small: an edition holds Markdown, code and finished HTML. markdown-it-py, Pygments and Jinja make
pages of it, and the search looks for the words as they are typed, which suits Chinese better than an index of words.
"""
