module "m" {
  source = "./mod"
  mode   = "silent"
}

module "sizes" {
  source = "./mod"
  sizes  = { a = 1 }
}

module "used" {
  source = "./mod"
  sizes  = [lab_thing.x.size]
}

resource "lab_thing" "x" {
  name = "x"
}
