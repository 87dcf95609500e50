terraform {
  cloud { organization = "o" }
  backend "s3" {}
  backend "local" {}
}
