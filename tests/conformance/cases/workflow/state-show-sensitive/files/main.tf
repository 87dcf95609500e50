terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "a" {
  name   = "a"
  secret = "hush"
  labels = { z = "1", a = "two words" }
  tags   = ["t2", "t1"]
  notes  = []
  replicas = [{ zone = "x" }]
  limits = { cpu = 2 }
  rule {
    port = 80
  }
  step {
    command = "run"
  }
}
data "lab_things" "all" {
  depends_on = [lab_thing.a]
}
resource "terraform_data" "s" {
  input = { secret = sensitive("x"), list = [1, null, "a"], text = "line1\nline2\n" }
}
resource "terraform_data" "c" {
  count = 2
}
module "m" {
  source   = "./m"
  for_each = toset(["k"])
}
