module "q" { source = "./m" }
module "r" { source = "./m/n" }
