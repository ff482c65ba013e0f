"""The colours of figures: those of Okabe and Ito, which people with any common colour blindness can tell apart.

Brown, grey, pale, violet, wine and olive, which their set lacks, differ from the rest by lightness.
"""

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
BROWN, GREY, PALE, VIOLET = "#7A4A1E", "#8A8A8A", "#DDDDDD", "#7B6FC4"
WINE, OLIVE = "#882255", "#999933"
