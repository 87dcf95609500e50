module "outer" {
  source = "./outer"
  secret = "s3cret"
}
output "pair" {
  value = module.outer.pair
}
