"""Small corpora in every format, written by hand."""

from __future__ import annotations

SENTENCE = """
<sentence id="d0.s0" text="KinC and KinD bind to Spo0A here.">
  <entity id="e0" charOffset="0-3" text="KinC" type="protein"/>
  <entity id="e1" charOffset="9-12" text="KinD" type="protein"/>
  <entity id="e2" charOffset="22-26" text="Spo0A" type="protein"/>
  <pair id="p0" e1="e0" e2="e1" interaction="False"/>
  <pair id="p1" e1="e0" e2="e2" interaction="True"/>
  <pair id="p2" e1="e2" e2="e1" interaction="True"/>
  <sentenceanalyses>
    <parses>
      <parse parser="other" tokenizer="whole"/>
      <parse parser="split_parse" tokenizer="split">
        <dependency t1="t4" t2="t1" type="nsubj"/>
        <dependency t1="t1" t2="t3" type="conj_and"/>
        <dependency t1="t4" t2="t3" type="nsubj"/>
        <dependency t1="t4" t2="t6" type="prep_to"/>
        <dependency t1="t4" t2="t7" type="advmod"/>
      </parse>
    </parses>
    <tokenizations>
      <tokenization tokenizer="whole"><token id="w1" charOffset="0-32" text="all" POS="X"/></tokenization>
      <tokenization tokenizer="split">
        <token id="t1" charOffset="0-3" text="KinC" POS="NN"/>
        <token id="t2" charOffset="5-7" text="and" POS="CC"/>
        <token id="t3" charOffset="9-12" text="KinD" POS="NN"/>
        <token id="t4" charOffset="14-17" text="bind" POS="VBP"/>
        <token id="t5" charOffset="19-20" text="to" POS="TO"/>
        <token id="t6" charOffset="22-26" text="Spo0A" POS="NN"/>
        <token id="t7" charOffset="28-31" text="here" POS="RB"/>
        <token id="t8" charOffset="32-32" text="." POS="."/>
      </tokenization>
    </tokenizations>
  </sentenceanalyses>
</sentence>
"""


def xml(*sentences: str, document: str = "d0") -> str:
    return f'<corpus source="tiny"><document id="{document}">{"".join(sentences)}</document></corpus>'


CONLLU = """# newdoc id = d0
# sent_id = s0
# text = KinC and KinD can't bind to Spo0A.
1\tKinC\tKinC\tPROPN\tNN\t_\t6\tnsubj\t6:nsubj\t_
2\tand\tand\tCCONJ\tCC\t_\t3\tcc\t3:cc\t_
3\tKinD\tKinD\tPROPN\tNN\t_\t1\tconj\t1:conj:and|6:nsubj\t_
4-5\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
4\tcan\tcan\tAUX\tMD\t_\t6\taux\t6:aux\t_
5\tn't\tnot\tPART\tRB\t_\t6\tadvmod\t6:advmod\t_
6\tbind\tbind\tVERB\t_\t_\t0\troot\t0:root\t_
6.1\tghost\tghost\tVERB\tVB\t_\t_\t_\t6:dep\t_
7\tto\tto\tADP\tIN\t_\t8\tcase\t8:case|6.1:case\t_
8\tSpo0A\tSpo0A\tPROPN\tNN\t_\t6\tobl\t6:obl\tSpaceAfter=No
9\t.\t.\tPUNCT\t.\t_\t6\tpunct\t6:punct\t_

# sent_id = s1
# text = Nothing here
1\tNothing\t_\tPRON\tNN\t_\t0\troot\t_\t_
2\there\t_\tADV\tRB\t_\t1\tadvmod\t_\t_
"""
MENTIONS = "sentence\tid\tstart\tend\ttype\ns0\te0\t0\t4\tprotein\ns0\te1\t9\t13\tprotein\ns0\te2\t28\t33\tprotein\n"
PAIRS = "sentence\tfirst\tsecond\tinteracts\ns0\te0\te1\tFalse\ns0\te2\te0\tTrue\n"
