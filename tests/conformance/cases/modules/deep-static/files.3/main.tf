module "mid" {
  source = "./mid"
  which  = tonumber("x")
}
