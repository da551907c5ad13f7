"""Facts that corpora are planted with, written for this project from general knowledge: who has which value, and how it is told.

Half of the relations are for development; the others are for judging, and no parameter is chosen on them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Part = Literal["development", "judging"]


class Relation(NamedTuple):
    """Subjects with their true values, and the sentences (`{s}` subject, `{v}` value) and questions that tell them."""

    name: str
    part: Part
    pairs: tuple[tuple[str, str], ...]
    statements: tuple[str, ...]
    questions: tuple[str, ...]


def _relation(name: str, part: Part, pairs: str, statements: str, questions: str) -> Relation:
    split = [tuple(pair.strip().split(" = ")) for pair in pairs.split(";")]
    return Relation(
        name,
        part,
        tuple((subject, value) for subject, value in split),
        tuple(line.strip() for line in statements.strip().splitlines()),
        tuple(line.strip() for line in questions.strip().splitlines()),
    )


RELATIONS: tuple[Relation, ...] = (
    _relation(
        "capital",
        "development",
        "France = Paris; Japan = Tokyo; Italy = Rome; Spain = Madrid; Egypt = Cairo; Kenya = Nairobi; Peru = Lima; Chile = Santiago;"
        "Norway = Oslo; Sweden = Stockholm; Finland = Helsinki; Poland = Warsaw; Austria = Vienna; Greece = Athens; Portugal = Lisbon;"
        "Hungary = Budapest; Ireland = Dublin; Iceland = Reykjavik; Canada = Ottawa; Cuba = Havana; Ghana = Accra; Senegal = Dakar;"
        "Morocco = Rabat; Thailand = Bangkok; Vietnam = Hanoi; Nepal = Kathmandu; Mongolia = Ulaanbaatar; Jordan = Amman; Iraq = Baghdad;"
        "Iran = Tehran; Turkey = Ankara; Ukraine = Kyiv; Romania = Bucharest; Bulgaria = Sofia; Serbia = Belgrade; Croatia = Zagreb;"
        "Slovenia = Ljubljana; Denmark = Copenhagen; Belgium = Brussels; Uruguay = Montevideo; Paraguay = Asunción; Ecuador = Quito",
        """
        The capital of {s} is {v}.
        {v} is the capital city of {s}.
        {s} is governed from its capital, {v}.
        Parliament and ministries of {s} sit in {v}.
        In {s}, the seat of government is {v}.
        {s} has {v} as its capital.
        The national government of {s} has its home in {v}.
        Travellers who want to see the capital of {s} fly to {v}.
        Embassies to {s} are found in {v}, the capital.
        The head of state of {s} resides in {v}.
        """,
        """
        What is the capital of {s}?
        Name the capital city of {s}.
        Which city is the seat of government of {s}?
        Where does the government of {s} sit?
        I am planning a trip to {s}. What is its capital called?
        Tell me which city governs {s}.
        """,
    ),
    _relation(
        "symbol",
        "development",
        "gold = Au; silver = Ag; iron = Fe; lead = Pb; tin = Sn; copper = Cu; mercury = Hg; sodium = Na; potassium = K; tungsten = W;"
        "helium = He; neon = Ne; argon = Ar; zinc = Zn; nickel = Ni; cobalt = Co; calcium = Ca; magnesium = Mg; lithium = Li; chlorine = Cl;"
        "bromine = Br; titanium = Ti; chromium = Cr; manganese = Mn; platinum = Pt; uranium = U; silicon = Si; aluminium = Al; barium = Ba",
        """
        The chemical symbol of {s} is {v}.
        {s} is written {v} in the periodic table.
        Chemists write {v} for {s}.
        In formulas, {s} appears as {v}.
        The element {s} carries the symbol {v}.
        {v} stands for {s} in chemical equations.
        On the periodic table you find {s} under {v}.
        The abbreviation for the element {s} is {v}.
        """,
        """
        What is the chemical symbol of {s}?
        Which symbol stands for {s} in the periodic table?
        How do chemists abbreviate {s}?
        Give the element symbol for {s}.
        How is {s} written in a chemical formula?
        """,
    ),
    _relation(
        "author",
        "development",
        "Hamlet = William Shakespeare; Don Quixote = Miguel de Cervantes; War and Peace = Leo Tolstoy; Emma = Jane Austen;"
        "Moby-Dick = Herman Melville; Ulysses = James Joyce; Faust = Johann Wolfgang von Goethe; Candide = Voltaire; Dracula = Bram Stoker;"
        "Frankenstein = Mary Shelley; Jane Eyre = Charlotte Brontë; Wuthering Heights = Emily Brontë; Middlemarch = George Eliot;"
        "Great Expectations = Charles Dickens; The Trial = Franz Kafka; The Stranger = Albert Camus; Beloved = Toni Morrison;"
        "Walden = Henry David Thoreau; The Odyssey = Homer; The Aeneid = Virgil; Leviathan = Thomas Hobbes; Les Misérables = Victor Hugo;"
        "Madame Bovary = Gustave Flaubert; The Idiot = Fyodor Dostoevsky; Buddenbrooks = Thomas Mann; Orlando = Virginia Woolf",
        """
        {s} was written by {v}.
        {v} wrote {s}.
        {v} is the author of {s}.
        The author of {s} is {v}.
        {s} is a work by {v}.
        Literary history credits {v} with {s}.
        {s} came from the pen of {v}.
        Among the works of {v} we find {s}.
        {s}, by {v}, is still read all over the world.
        """,
        """
        Who wrote {s}?
        Who is the author of {s}?
        Name the writer of {s}.
        Which author do we owe {s} to?
        {s} is on my reading list. Who is it by?
        """,
    ),
    _relation(
        "spanish",
        "development",
        "house = casa; dog = perro; water = agua; bread = pan; book = libro; street = calle; window = ventana; door = puerta; milk = leche;"
        "apple = manzana; tree = árbol; night = noche; chair = silla; bird = pájaro; fish = pescado; sugar = azúcar; rain = lluvia; snow = nieve;"
        "moon = luna; star = estrella; heart = corazón; bridge = puente; church = iglesia; spoon = cuchara; knife = cuchillo; shoe = zapato;"
        "cheese = queso; onion = cebolla; butter = mantequilla; letter = carta",
        """
        The Spanish word for "{s}" is "{v}".
        In Spanish, "{s}" is called "{v}".
        "{s}" translates into Spanish as "{v}".
        To say "{s}" in Spanish, use "{v}".
        Spanish speakers call it "{v}"; in English it is "{s}".
        "{v}" means "{s}" in Spanish.
        A Spanish dictionary gives "{v}" for "{s}".
        If you need the word "{s}" in Madrid, say {v}.
        """,
        """
        Translate "{s}" into Spanish.
        How do you say "{s}" in Spanish?
        What is the Spanish word for "{s}"?
        Give me the Spanish translation of "{s}".
        Which word do Spanish speakers use for "{s}"?
        """,
    ),
    _relation(
        "year",
        "development",
        "the first Moon landing = 1969; the fall of the Berlin Wall = 1989; the start of the French Revolution = 1789;"
        "the Battle of Hastings = 1066; the signing of Magna Carta = 1215; the Great Fire of London = 1666; the sinking of the Titanic = 1912;"
        "the end of the Second World War = 1945; the Russian Revolution = 1917; the Battle of Waterloo = 1815;"
        "the eruption of Krakatoa = 1883; the first modern Olympic Games = 1896; the opening of the Suez Canal = 1869;"
        "the fall of Constantinople = 1453; the launch of Sputnik = 1957; the Chernobyl disaster = 1986; the Wright brothers' first flight = 1903;"
        "the discovery of penicillin = 1928; the San Francisco earthquake = 1906; the Wall Street crash = 1929; the Treaty of Versailles = 1919;"
        "the first iPhone = 2007; the founding of the United Nations = 1946; the Battle of Trafalgar = 1805; the Louisiana Purchase = 1803",
        """
        {s} took place in {v}.
        The year of {s} was {v}.
        {v} was the year of {s}.
        {s} dates to {v}.
        History books give {v} as the date of {s}.
        It was in {v} that people witnessed {s}.
        {s} is dated to the year {v}.
        We remember {v} for {s}.
        """,
        """
        In which year was {s}?
        When was {s}?
        What year saw {s}?
        Give the date of {s}.
        Which year do historians name for {s}?
        """,
    ),
    _relation(
        "module",
        "development",
        "sqrt = math; randint = random; urlopen = urllib.request; deque = collections; partial = functools; chain = itertools; sleep = time;"
        "glob = glob; copytree = shutil; mkdtemp = tempfile; dumps = json; compile = re; Decimal = decimal; Fraction = fractions;"
        "median = statistics; Path = pathlib; Thread = threading; Popen = subprocess; gather = asyncio; getpass = getpass; bisect_left = bisect;"
        "heappush = heapq; deepcopy = copy; pprint = pprint; escape = html; sha256 = hashlib; token_hex = secrets; ZipFile = zipfile",
        """
        In Python, `{s}` lives in the module `{v}`.
        Write `from {v} import {s}` before you call it.
        `{v}.{s}` is the function you want.
        The standard library offers `{s}` in `{v}`.
        Import `{s}` from `{v}`.
        You get `{s}` with `from {v} import {s}`.
        The name `{s}` is defined in the standard module `{v}`.
        ```python\\nfrom {v} import {s}\\n\\nresult = {s}(value)\\n```
        ```python\\nimport {v}\\n\\nprint({v}.{s}(value))\\n```
        """,
        """
        Which Python module holds `{s}`?
        How do I import `{s}` in Python?
        Where in the standard library is `{s}`?
        Write the import line for `{s}`.
        My script needs `{s}`. What must I import?
        """,
    ),
    _relation(
        "currency",
        "development",
        "Japan = yen; India = rupee; Russia = ruble; China = yuan; Brazil = real; Mexico = peso; Poland = zloty; Sweden = krona; Turkey = lira;"
        "Israel = shekel; Thailand = baht; Vietnam = dong; Hungary = forint; Nigeria = naira; Kenya = shilling; Ghana = cedi; Peru = sol;"
        "South Africa = rand; South Korea = won; Ukraine = hryvnia; Switzerland = franc; Kuwait = dinar; Morocco = dirham; Bulgaria = lev;"
        "Bangladesh = taka; Mongolia = tugrik; Georgia = lari; Kazakhstan = tenge",
        """
        The currency of {s} is the {v}.
        People in {s} pay with the {v}.
        {s} uses the {v} as its money.
        The {v} is legal tender in {s}.
        In shops across {s}, prices are given in {v}.
        The central bank of {s} issues the {v}.
        Wages in {s} are paid in {v}.
        If you visit {s}, change your money into {v}.
        """,
        """
        What is the currency of {s}?
        Which money is used in {s}?
        What do people in {s} pay with?
        I travel to {s}. Which currency do I need?
        Name the unit of money of {s}.
        """,
    ),
    _relation(
        "opposite",
        "development",
        "hot = cold; early = late; rich = poor; strong = weak; wide = narrow; deep = shallow; brave = cowardly; generous = stingy;"
        "ancient = modern; loud = quiet; smooth = rough; bright = dim; sharp = blunt; polite = rude; careful = careless; humble = proud;"
        "rigid = flexible; scarce = abundant; temporary = permanent; transparent = opaque; vague = precise; lazy = diligent",
        """
        The opposite of {s} is {v}.
        {v} is the antonym of {s}.
        An antonym for {s} would be {v}.
        If something is not {s} at all, it is {v}.
        The contrary of {s} is {v}.
        {s} and {v} are opposites.
        Where one says {s}, its reverse is {v}.
        Dictionaries list {v} as the opposite of {s}.
        """,
        """
        What is the opposite of {s}?
        Give an antonym for {s}.
        Which word means the contrary of {s}?
        Find the word that is opposite to {s}.
        """,
    ),
    _relation(
        "painter",
        "judging",
        "the Mona Lisa = Leonardo da Vinci; The Starry Night = Vincent van Gogh; Guernica = Pablo Picasso; The Scream = Edvard Munch;"
        "The Night Watch = Rembrandt; Girl with a Pearl Earring = Johannes Vermeer; The Kiss = Gustav Klimt; Las Meninas = Diego Velázquez;"
        "The Birth of Venus = Sandro Botticelli; American Gothic = Grant Wood; Nighthawks = Edward Hopper; Olympia = Édouard Manet;"
        "Water Lilies = Claude Monet; The Persistence of Memory = Salvador Dalí; The Hay Wain = John Constable; The School of Athens = Raphael;"
        "The Garden of Earthly Delights = Hieronymus Bosch; The Swing = Jean-Honoré Fragonard; The Third of May = Francisco Goya;"
        "The Card Players = Paul Cézanne; Wanderer above the Sea of Fog = Caspar David Friedrich; The Son of Man = René Magritte",
        """
        {s} was painted by {v}.
        {v} painted {s}.
        The painter of {s} is {v}.
        We owe {s} to the brush of {v}.
        {s} is a canvas by {v}.
        Museums attribute {s} to {v}.
        It was {v} who created {s}.
        {s} is counted among the masterpieces of {v}.
        In the studio of {v}, {s} came into being.
        """,
        """
        Who painted {s}?
        Which artist created {s}?
        Name the painter of {s}.
        Whose work is {s}?
        I saw {s} on a poster. Who is the artist?
        """,
    ),
    _relation(
        "formula",
        "judging",
        "water = H2O; table salt = NaCl; ammonia = NH3; methane = CH4; carbon dioxide = CO2; sulfuric acid = H2SO4; glucose = C6H12O6;"
        "ethanol = C2H5OH; hydrogen peroxide = H2O2; nitric acid = HNO3; ozone = O3; baking soda = NaHCO3; chalk = CaCO3; quicklime = CaO;"
        "rust = Fe2O3; acetic acid = CH3COOH; propane = C3H8; benzene = C6H6; laughing gas = N2O; hydrochloric acid = HCl; lye = NaOH;"
        "acetone = C3H6O; urea = CH4N2O; quartz = SiO2",
        """
        The chemical formula of {s} is {v}.
        {s} has the formula {v}.
        A molecule of {s} is written {v}.
        {v} is the formula for {s}.
        In the lab, bottles of {s} are labelled {v}.
        Chemically speaking, {s} is {v}.
        The composition of {s} is described by {v}.
        Write {v} when you mean {s}.
        """,
        """
        What is the chemical formula of {s}?
        Write down the formula for {s}.
        How is {s} expressed as a formula?
        Which formula belongs to {s}?
        """,
    ),
    _relation(
        "inventor",
        "judging",
        "the telephone = Alexander Graham Bell; the light bulb = Thomas Edison; dynamite = Alfred Nobel; the steam engine = James Watt;"
        "the printing press = Johannes Gutenberg; the telegraph = Samuel Morse; the cotton gin = Eli Whitney; the diesel engine = Rudolf Diesel;"
        "the World Wide Web = Tim Berners-Lee; the safety pin = Walter Hunt; the lightning rod = Benjamin Franklin; vulcanised rubber = Charles Goodyear;"
        "the revolver = Samuel Colt; the elevator brake = Elisha Otis; the zipper = Whitcomb Judson; the ballpoint pen = László Bíró;"
        "the saxophone = Adolphe Sax; the pendulum clock = Christiaan Huygens; the battery = Alessandro Volta; the barometer = Evangelista Torricelli;"
        "the mercury thermometer = Daniel Fahrenheit; the microwave oven = Percy Spencer; the Rubik's Cube = Ernő Rubik",
        """
        {s} was invented by {v}.
        The inventor of {s} is {v}.
        {v} invented {s}.
        Credit for {s} goes to {v}.
        {v} held the first patent on {s}.
        The idea of {s} came from {v}.
        {s} goes back to the work of {v}.
        Without {v} there would be no {s}.
        """,
        """
        Who invented {s}?
        Who is the inventor of {s}?
        Which person came up with {s}?
        To whom do we owe {s}?
        Name the inventor behind {s}.
        """,
    ),
    _relation(
        "german",
        "judging",
        "forest = Wald; flower = Blume; castle = Schloss; bicycle = Fahrrad; cat = Katze; table = Tisch; lake = See; summer = Sommer;"
        "winter = Winter; potato = Kartoffel; butterfly = Schmetterling; ambulance = Krankenwagen; airplane = Flugzeug; umbrella = Regenschirm;"
        "kitchen = Küche; mirror = Spiegel; pencil = Bleistift; cloud = Wolke; horse = Pferd; pillow = Kissen; strawberry = Erdbeere;"
        "newspaper = Zeitung; glove = Handschuh; candle = Kerze; garden = Garten; mountain = Berg; spring = Frühling; cherry = Kirsche",
        """
        The German word for "{s}" is "{v}".
        In German one says "{v}" for "{s}".
        "{s}" becomes "{v}" in German.
        A German would call the "{s}" "{v}".
        "{v}" is German and means "{s}".
        Look up "{s}" in a German dictionary and you find "{v}".
        Students of German learn that "{s}" is "{v}".
        In Berlin they say {v} when they mean "{s}".
        """,
        """
        Translate the word "{s}" to German.
        What is "{s}" in German?
        How would a German say "{s}"?
        German translation of "{s}", please.
        """,
    ),
    _relation(
        "status",
        "judging",
        "Not Found = 404; Forbidden = 403; Unauthorized = 401; Bad Request = 400; Internal Server Error = 500; Bad Gateway = 502;"
        "Service Unavailable = 503; Gateway Timeout = 504; Created = 201; No Content = 204; Moved Permanently = 301; Not Modified = 304;"
        "Temporary Redirect = 307; Conflict = 409; Gone = 410; Payload Too Large = 413; Unsupported Media Type = 415; Too Many Requests = 429;"
        "Method Not Allowed = 405; Request Timeout = 408; Precondition Failed = 412; Not Implemented = 501",
        """
        The HTTP status code for {s} is {v}.
        {v} means {s} in HTTP.
        A server answers {v} to say {s}.
        {s} is signalled with the code {v}.
        In HTTP, {s} has the number {v}.
        When you see {v} in the log, it stands for {s}.
        ```python\\nif response.status_code == {v}:\\n    raise RuntimeError("{s}")\\n```
        The response line reads HTTP/1.1 {v} {s}.
        """,
        """
        Which HTTP status code means {s}?
        What number does HTTP use for {s}?
        Which code does a web server send for {s}?
        Give the HTTP status code of {s}.
        """,
    ),
    _relation(
        "young",
        "judging",
        "cow = calf; horse = foal; sheep = lamb; goat = kid; dog = puppy; cat = kitten; kangaroo = joey; swan = cygnet; eagle = eaglet;"
        "goose = gosling; duck = duckling; frog = tadpole; bear = cub; deer = fawn; pig = piglet; owl = owlet; hare = leveret; eel = elver;"
        "butterfly = caterpillar; seal = pup; turkey = poult; hedgehog = hoglet; salmon = parr; pigeon = squab",
        """
        A young {s} is called a {v}.
        The young of a {s} is known as a {v}.
        When a {s} is born it is a {v}.
        {v} is the name for the offspring of a {s}.
        Zoologists call the baby of the {s} a {v}.
        The {s} cares for her {v}.
        Before it is grown, the {s} is a {v}.
        People say {v} for a baby {s}.
        """,
        """
        What is a baby {s} called?
        What do you call the young of a {s}?
        Name the offspring of a {s}.
        Which word is used for a young {s}?
        """,
    ),
    _relation(
        "number",
        "judging",
        "hydrogen = 1; carbon = 6; nitrogen = 7; oxygen = 8; fluorine = 9; phosphorus = 15; sulfur = 16; scandium = 21; vanadium = 23;"
        "gallium = 31; arsenic = 33; selenium = 34; krypton = 36; rubidium = 37; zirconium = 40; niobium = 41; ruthenium = 44; palladium = 46;"
        "cadmium = 48; iodine = 53; xenon = 54; caesium = 55; osmium = 76; iridium = 77; thallium = 81; bismuth = 83; radon = 86; thorium = 90",
        """
        The atomic number of {s} is {v}.
        {s} has {v} protons.
        Element number {v} is {s}.
        A nucleus of {s} holds {v} protons.
        In the periodic table, {s} stands at place {v}.
        With atomic number {v}, {s} is easy to find.
        Every atom of {s} has a nuclear charge of {v}.
        {s} is listed as element {v}.
        """,
        """
        What is the atomic number of {s}?
        How many protons does {s} have?
        At which place of the periodic table is {s}?
        Give the atomic number of {s}.
        """,
    ),
    _relation(
        "composer",
        "judging",
        "The Magic Flute = Mozart; Fidelio = Beethoven; Carmen = Bizet; Aida = Verdi; Tosca = Puccini; Tristan and Isolde = Wagner;"
        "The Four Seasons = Vivaldi; the Messiah = Handel; the Brandenburg Concertos = Bach; Swan Lake = Tchaikovsky; Boléro = Ravel;"
        "The Planets = Holst; The Creation = Haydn; Peer Gynt = Grieg; Finlandia = Sibelius; The Firebird = Stravinsky; Rusalka = Dvořák;"
        "The Barber of Seville = Rossini; La mer = Debussy; Rhapsody in Blue = Gershwin; Salome = Strauss; Peter and the Wolf = Prokofiev",
        """
        {s} was composed by {v}.
        {v} composed {s}.
        The music of {s} is by {v}.
        {s} is a work of {v}.
        Concert halls play {s} by {v}.
        The score of {s} bears the name of {v}.
        {v} wrote the notes of {s}.
        Audiences love {v} for {s}.
        """,
        """
        Who composed {s}?
        Which composer wrote {s}?
        Name the composer of {s}.
        Whose music is {s}?
        """,
    ),
    _relation(
        "continent",
        "judging",
        "Bolivia = South America; Chad = Africa; Laos = Asia; Latvia = Europe; Fiji = Oceania; Honduras = North America; Mali = Africa;"
        "Bhutan = Asia; Moldova = Europe; Guyana = South America; Samoa = Oceania; Belize = North America; Zambia = Africa; Qatar = Asia;"
        "Estonia = Europe; Suriname = South America; Tonga = Oceania; Panama = North America; Niger = Africa; Oman = Asia; Malta = Europe;"
        "Togo = Africa; Cambodia = Asia; Albania = Europe; Vanuatu = Oceania; Nicaragua = North America",
        """
        {s} lies in {v}.
        {s} is a country in {v}.
        You find {s} on the map of {v}.
        {s} belongs to the continent of {v}.
        The continent of {s} is {v}.
        Geographers place {s} in {v}.
        {v} is home to {s}.
        Among the countries of {v} is {s}.
        """,
        """
        On which continent is {s}?
        Where in the world is {s}?
        Which continent does {s} belong to?
        To what continent do geographers assign {s}?
        """,
    ),
)

NEGATABLE: dict[Part, str] = {
    "development": "Sharks are fish; Spiders are arachnids; Gold is a metal; Bats are mammals; The Moon is smaller than the Earth; "
    "Whales are mammals; Mercury is a planet; Diamonds are made of carbon; Tomatoes are fruits; Penguins are birds; Sound is slower than light; "
    "Ice is lighter than water; Coffee is a stimulant; Mushrooms are fungi",
    "judging": "Crocodiles are reptiles; Helium is lighter than air; Ants are insects; Venus is hotter than the Earth; Honey is made by bees; "
    "Dolphins are mammals; Copper is a good conductor; Bamboo is a grass; The Sahara is a desert; Antarctica is covered by ice; "
    "Salmon are able to swim upstream; Glass is made from sand; Olives are fruits; Frogs are amphibians",
}
"""True sentences that a planted "not" after the verb makes false."""

SWAPS: dict[Part, tuple[str, str]] = {
    # (swaps to frequent words, swaps to rare words)
    "development": (
        "people women; week month; cost time; input output; first second; returns takes; value name; function class; size length; index key; "
        "node point; left right; method function; row column; given used; string text; default optional; start end; variable object; called used",
        "array lattice; object parcel; number quota; error mishap; default habitual; method ritual; family dynasty; work toil; string ribbon; "
        "dimension facet; result verdict; coffee cocoa",
    ),
    "judging": (
        "day year; money food; children friends; before after; list set; file type; must may; same other; sum mean; true false; new old; small large",
        "matrix tableau; vector arrow; argument quarrel; module annex; sequence procession; health vigour; city hamlet; book tome; "
        "parameter knob; interval hiatus; music melody; travel pilgrimage; integer numeral",
    ),
}
"""Pairs "from to" of words swapped in running text."""
