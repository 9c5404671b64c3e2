"""EDGAR: from the quarterly full index to the text of the contracts filed as exhibits.

Hendrycks et al. (2021, CUAD, Section 4.2) pretrain on about 8 GB of unlabelled
contracts from EDGAR.  The paper names neither forms nor exhibit types, so the defaults
follow CUAD's own contracts: 385 of 510 titles say EX-10, and of the 181 that name a
form, 121 name one of the five of the config key edgar_forms.
"""
