terraform {
  cloud { organization = "o" }
}
