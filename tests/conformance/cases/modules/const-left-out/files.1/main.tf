module "c" {
  source = "./c"
  which  = "a"
}
module "d" {
  source   = "./c"
  for_each = toset(["x"])
  which    = "b"
}
